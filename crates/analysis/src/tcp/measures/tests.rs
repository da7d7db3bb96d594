//! What each measure is, as packet scripts.

mod counts;
mod flow;
mod rtt;

use crate::rows::{RttRow, SideRow};
use crate::tcp::script::{analyse, connection};

/// A handshake of 10 ms seen at the client; sequence numbers of data start at 101 and 501.
const OPENING: &str = "
    0  c S 100+0
    10 s S 500+0 ack 101
    10 c . 101+0 ack 501
";

/// The client's row after [`OPENING`] and `script`.
fn client(script: &str) -> SideRow {
    connection(&format!("{OPENING}{script}")).client
}

/// The server's row.
fn server(script: &str) -> SideRow {
    connection(&format!("{OPENING}{script}")).server
}

/// The RTT samples of data.
fn samples(script: &str) -> Vec<RttRow> {
    analyse(script).rtt
}
