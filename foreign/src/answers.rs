//! Which causes are right answers for what a sender did.

use rexmit_analysis::rows::Cause;

use crate::host::{Sending, Why};

/// What an analysis should say of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It is not a retransmission.
    Nothing,
    /// It is one, for one of these causes.
    Retransmission(&'static [Cause]),
    /// It may be listed as a retransmission, for one of these causes, or not.
    Either(&'static [Cause]),
}

/// What made a sender retransmit, roughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A timer expired: a timeout, what follows it, probes.
    Timer,
    /// Acknowledgments came: fast retransmit and what follows it.
    Recovery,
    /// A control bit without data.
    Control,
}

/// What an analysis should say of a packet; `bare_fin` of a FIN without data.
pub fn expected(sending: Sending, bare_fin: bool) -> Expected {
    let why = match sending {
        Sending::New => return Expected::Nothing,
        Sending::AroundProbe => return Expected::Either(&[Cause::WindowProbe]),
        Sending::Again(why) => why,
    };
    Expected::Retransmission(match (why, bare_fin) {
        (Why::Syn, _) => &[Cause::Syn],
        (Why::SynAck, _) => &[Cause::SynAck],
        // `Cause::Fin` is the timer's; a FIN in a recovery may be named after that too.
        (Why::Timeout, true) => &[Cause::Fin],
        (Why::GoBackN, true) => &[Cause::Fin, Cause::GoBackN],
        (Why::Fast, true) => &[Cause::Fin, Cause::Fast],
        (Why::FastByRack, true) => &[Cause::Fin, Cause::Fast, Cause::ReorderingTimer],
        (Why::FastInLoss, true) => &[Cause::Fin, Cause::Fast, Cause::GoBackN],
        (Why::Reported, true) => &[Cause::Fin, Cause::Fast, Cause::SackRecovery],
        (Why::PartialAck, true) => &[Cause::Fin, Cause::PartialAck],
        (Why::SackRecovery, true) => &[Cause::Fin, Cause::SackRecovery],
        (Why::TailProbe, true) => &[Cause::Fin, Cause::TailProbe],
        (Why::Timeout, false) => &[Cause::Timeout],
        (Why::GoBackN, false) => &[Cause::GoBackN],
        (Why::Fast, false) => &[Cause::Fast],
        (Why::FastByRack, false) => &[Cause::Fast, Cause::ReorderingTimer],
        // It begins a recovery, and it is more of what was outstanding at a timeout.
        (Why::FastInLoss, false) => &[Cause::Fast, Cause::ReorderingTimer, Cause::GoBackN],
        (Why::Reported, false) => &[Cause::Fast, Cause::SackRecovery],
        (Why::PartialAck, false) => &[Cause::PartialAck],
        (Why::SackRecovery, false) => &[Cause::SackRecovery],
        (Why::TailProbe, false) => &[Cause::TailProbe],
        (Why::Open, _) => &[Cause::Unknown],
        (Why::Probe, _) => &[Cause::WindowProbe],
    })
}

/// The family of a cause; `None` of one that says nothing.
pub fn family(cause: Cause) -> Option<Family> {
    match cause {
        Cause::Timeout | Cause::GoBackN | Cause::TailProbe | Cause::WindowProbe | Cause::KeepAlive => {
            Some(Family::Timer)
        }
        Cause::Fast | Cause::ReorderingTimer | Cause::PartialAck | Cause::SackRecovery => {
            Some(Family::Recovery)
        }
        Cause::Syn | Cause::SynAck | Cause::Fin => Some(Family::Control),
        Cause::Unknown => None,
    }
}
