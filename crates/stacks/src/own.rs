//! Parts of the models that come from outside, in place of those that a host's profile names.

use rexmit_sctp::congestion::Congestion as SctpCongestion;
use rexmit_tcp::congestion::Congestion as TcpCongestion;
use rexmit_tcp::recovery::OwnRecovery;

use crate::AnyEnd;

/// A congestion control of either model.
#[derive(Clone, Debug)]
pub enum OwnCongestion {
    /// For connections.
    Tcp(TcpCongestion),
    /// For associations, a copy on each path.
    Sctp(SctpCongestion),
}

impl From<TcpCongestion> for OwnCongestion {
    fn from(own: TcpCongestion) -> Self {
        Self::Tcp(own)
    }
}

impl From<SctpCongestion> for OwnCongestion {
    fn from(own: SctpCongestion) -> Self {
        Self::Sctp(own)
    }
}

/// What each end at one host gets a copy of. What is `None` is as its profile names it.
#[derive(Clone, Debug, Default)]
pub struct OwnParts {
    /// Congestion control, of TCP or SCTP.
    pub congestion: Option<OwnCongestion>,
    /// The way to recover from loss, of TCP.
    pub recovery: Option<OwnRecovery>,
}

impl AnyEnd {
    /// Takes these parts in place of its profile's; call it before the first packet.
    ///
    /// # Errors
    /// In one line, if the code of this end cannot have one of them.
    pub fn set_own_parts(&mut self, own: &OwnParts) -> Result<(), &'static str> {
        match (self, &own.congestion, &own.recovery) {
            (Self::Tcp(_), Some(OwnCongestion::Sctp(_)), _) => {
                Err("this host speaks TCP, and the congestion control given to it is one of SCTP")
            }
            (Self::Sctp(_), Some(OwnCongestion::Tcp(_)), _) => {
                Err("this host speaks SCTP, and the congestion control given to it is one of TCP")
            }
            (Self::Sctp(_), _, Some(_)) => {
                Err("a way to recover of one's own goes with the model of TCP only")
            }
            (Self::Other(_), congestion, recovery) if congestion.is_some() || recovery.is_some() => {
                Err("a congestion control or a way to recover of one's own goes with the models only")
            }
            (Self::Tcp(connection), congestion, recovery) => {
                if let Some(OwnCongestion::Tcp(congestion)) = congestion {
                    connection.set_congestion(congestion.clone());
                }
                if let Some(recovery) = recovery {
                    connection.set_recovery(recovery);
                }
                Ok(())
            }
            (Self::Sctp(association), Some(OwnCongestion::Sctp(congestion)), None) => {
                association.set_congestion(congestion.clone());
                Ok(())
            }
            (Self::Sctp(_) | Self::Other(_), ..) => Ok(()),
        }
    }
}
