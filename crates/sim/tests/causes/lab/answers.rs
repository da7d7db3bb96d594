//! Which causes are right answers for what the model did. Where two are, the table says why.

use rexmit_analysis::rows::Cause;
use rexmit_sim::TransmissionRow;
use rexmit_stack::Reason;
use rexmit_wire::Flags;

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

/// What an analysis should say of a packet that the model sent.
pub fn expected(row: &TransmissionRow) -> Expected {
    use Expected::{Either, Nothing, Retransmission};
    let again = row.transmission > 1;
    match row.reason {
        // A byte beyond the window is new data, and outside the order of the stream: both readings are sound.
        Reason::WindowProbe if !again => Either(&[Cause::WindowProbe]),
        Reason::WindowProbe => Retransmission(&[Cause::WindowProbe]),
        _ if !again => Nothing,
        Reason::Syn { .. } => Retransmission(&[Cause::Syn]),
        // The handshake's two retransmissions of the passive side have one name.
        Reason::SynAck { .. } | Reason::SynAckAnswer => Retransmission(&[Cause::SynAck]),
        // Of a whole segment, one byte was a probe's before: it is new data to whoever leaves probes out.
        Reason::New | Reason::LimitedTransmit => Either(&[Cause::WindowProbe]),
        // BSD shows its FIN again with each ACK. Nothing was repaired, and the FIN was sent again all the same.
        Reason::Ack => Either(&[Cause::Fin]),
        reason if row.len == 0 && row.flags.has(Flags::FIN) => fin(reason),
        reason => Retransmission(data(reason)),
    }
}

/// A FIN without data. `Cause::Fin` is the timer's; a FIN in a recovery may be named after that too.
fn fin(reason: Reason) -> Expected {
    Expected::Retransmission(match reason {
        Reason::GoBackN => &[Cause::Fin, Cause::GoBackN],
        Reason::Fast { .. } => &[Cause::Fin, Cause::Fast],
        Reason::ReorderingTimer { begins: true, .. } => &[Cause::Fin, Cause::ReorderingTimer, Cause::Fast],
        Reason::ReorderingTimer { .. } => &[Cause::Fin, Cause::ReorderingTimer, Cause::SackRecovery],
        Reason::PartialAck => &[Cause::Fin, Cause::PartialAck],
        Reason::SackRecovery | Reason::Rescue => &[Cause::Fin, Cause::SackRecovery],
        Reason::Age => &[Cause::Fin, Cause::GoBackN, Cause::PartialAck, Cause::SackRecovery],
        Reason::TailProbe => &[Cause::Fin, Cause::TailProbe],
        _ => &[Cause::Fin],
    })
}

fn data(reason: Reason) -> &'static [Cause] {
    match reason {
        Reason::Timeout { .. } => &[Cause::Timeout],
        Reason::GoBackN => &[Cause::GoBackN],
        Reason::Fast { .. } => &[Cause::Fast],
        // Where packets do not tell the timer from an acknowledgment, the name of what either does is right.
        Reason::ReorderingTimer { begins: true, .. } => &[Cause::ReorderingTimer, Cause::Fast],
        Reason::ReorderingTimer { .. } => &[Cause::ReorderingTimer, Cause::SackRecovery],
        Reason::PartialAck => &[Cause::PartialAck],
        // RFC 6675's rescue is a hole like others, except that no report lies above it.
        Reason::SackRecovery | Reason::Rescue => &[Cause::SackRecovery],
        // All but an age is alike: holes go again, on ACKs, in a recovery.
        Reason::Age => &[Cause::GoBackN, Cause::PartialAck, Cause::SackRecovery],
        Reason::TailProbe => &[Cause::TailProbe],
        _ => &[],
    }
}
