//! Third parties' stacks, one crate of `adapters/` each.

use rexmit_program::Source;
use rexmit_stack::StackFactory;

pub(crate) static USRSCTP: &dyn StackFactory = &rexmit_usrsctp::UsrsctpStack;
pub(crate) static SMOLTCP: &dyn StackFactory = &rexmit_smoltcp::SmoltcpStack;
pub(crate) static LWIP: &dyn StackFactory = &rexmit_lwip::LwipStack;
pub(crate) static SCTP_PROTO: &dyn StackFactory = &rexmit_sctp_proto::SctpProtoStack;
pub(crate) static QUINN: &dyn StackFactory = &rexmit_quinn::QuinnStack;
pub(crate) static NGTCP2: &dyn StackFactory = &rexmit_ngtcp2::Ngtcp2Stack;
pub(crate) static GVISOR: &dyn StackFactory = &rexmit_gvisor::STACK;
pub(crate) static PION_SCTP: &dyn StackFactory = &rexmit_pion_sctp::STACK;
pub(crate) static QUIC_GO: &dyn StackFactory = &rexmit_quic_go::STACK;
pub(crate) static QUICHE: &dyn StackFactory = &rexmit_quiche::STACK;

/// What those that are programs are built from.
pub(crate) static SOURCES: &[&Source] =
    &[&rexmit_gvisor::SOURCE, &rexmit_pion_sctp::SOURCE, &rexmit_quic_go::SOURCE, &rexmit_quiche::SOURCE];
