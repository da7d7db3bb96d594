//! The far side of rexmit's protocol for stacks that are programs, version 1.
//!
//! A program implements [`Stack`], what a run of it is, and [`End`], one end of a connection; [`serve`] answers rexmit's calls
//! with them, one at a time. Times are those of the run, in nanoseconds. While an end is called, it says what it does by the
//! methods of [`Line`]: [`Line::send`], [`Line::tell`], [`Line::set_timer`], [`Line::set_readable`], [`Line::set_state`]. It must
//! read no clock and draw random numbers from [`Run::random`] alone, so that the same run is the same again.
//!
//! ```no_run
//! # use rexmitstack::*;
//! struct Mine;
//!
//! struct MyEnd(Opening);
//!
//! impl Stack for Mine {
//!     type End = MyEnd;
//!
//!     fn begin(_: Run) -> Result<Self, String> {
//!         Ok(Self)
//!     }
//!
//!     fn open(&mut self, _: u64, opening: Opening, _: &mut Line) -> MyEnd {
//!         MyEnd(opening)
//!     }
//! }
//!
//! impl End for MyEnd {
//!     fn connect(&mut self, now: u64, line: &mut Line) {
//!         line.send(&wrap_udp(&self.0, b"hello"), Why::Control.into());
//!         line.set_timer(now + 1_000_000_000);
//!     }
//! }
//!
//! serve::<Mine>(&About { name: "mine", build: "1.0", protocols: "quic", forgets: true })?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! `docs/reference/stack-protocol.md` describes the bytes, and `examples/stop_and_wait.rs` is a whole one.

mod calls;
mod line;
mod memory;
mod packet;
mod random;

use std::net::SocketAddr;

pub use calls::serve;
pub use line::{Event, Field, Line, Reasons, Why};
pub use packet::{folded, sum, unwrap, unwrap_udp, wrap, wrap_udp};
pub use random::Random;
pub use serde_json::Value;

/// The version of the protocol.
pub const VERSION: u16 = 1;

/// What a program says of itself.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// Its name.
    pub name: &'a str,
    /// What tells one build of it from another.
    pub build: &'a str,
    /// The protocols that it speaks, between blanks: `"tcp sctp"`.
    pub protocols: &'a str,
    /// One process may serve one run after the other. Each has a thread of its own, so that what code keeps for a thread begins
    /// anew; what it keeps for the process does not.
    pub forgets: bool,
}

/// What is known of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The seed of all that is random.
    pub seed: [u8; 32],
    /// Numbers drawn from it, the same each time.
    pub random: Random,
    /// The table that rexmit tells: `host`, `protocol`, `mtu`, `address`, `peer`, `profile`, `settings`.
    pub settings: Value,
    /// The longest IP packet.
    pub mtu: usize,
    /// rexmit takes logs of connections (qlog): [`Line::add_qlog`].
    pub qlog: bool,
}

/// What an end is made from.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// It will connect; otherwise it waits.
    pub active: bool,
    /// Streams that the application uses.
    pub streams: u16,
    /// This end.
    pub local: SocketAddr,
    /// The other one.
    pub remote: SocketAddr,
    /// Of QUIC: the application's writes are datagrams.
    pub datagrams: bool,
}

/// How what the application writes is to be delivered.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// The stream.
    pub stream: u16,
    /// It need not wait for what was written before.
    pub unordered: bool,
    /// The most retransmissions; `None`: any.
    pub max_retransmits: Option<u32>,
    /// After so many nanoseconds it may be given up; `None`: never.
    pub lifetime: Option<u64>,
    /// Where it begins among all that this application writes.
    pub place: u64,
    /// Of QUIC: it is a datagram, which is taken whole or not at all, and never sent again.
    pub datagram: bool,
}

/// What a read gives.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// The stream.
    pub stream: u16,
    /// Where the bytes begin in what the peer's application wrote; `None`: they follow those read before.
    pub place: Option<u64>,
    /// The stream is over behind them.
    pub ends: bool,
    /// They are a datagram, whole, and of no stream.
    pub datagram: bool,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A host in one run.
pub trait Stack: Sized {
    /// An end of a connection.
    type End: End;

    /// It knows datagrams of QUIC.
    const DATAGRAMS: bool = false;

    /// A run begins.
    ///
    /// # Errors
    /// It cannot, for this reason: the run fails with these words.
    fn begin(run: Run) -> Result<Self, String>;

    /// An end is made.
    fn open(&mut self, now: u64, opening: Opening, line: &mut Line) -> Self::End;
}

/// One end of a connection, in the order in which its calls come.
pub trait End {
    /// The application connects.
    fn connect(&mut self, now: u64, line: &mut Line);

    /// An IP packet arrives.
    fn packet(&mut self, now: u64, packet: &[u8], line: &mut Line) {
        let _ = (now, packet, line);
    }

    /// The timer is due.
    fn timer(&mut self, now: u64, line: &mut Line) {
        let _ = (now, line);
    }

    /// The application writes: how many of the bytes are taken. What is left is offered again after [`Event::Writable`].
    fn write(&mut self, now: u64, bytes: &[u8], how: How, line: &mut Line) -> usize {
        let _ = (now, bytes, how, line);
        0
    }

    /// The application reads so many bytes at most.
    fn read(&mut self, now: u64, most: usize, line: &mut Line) -> Option<Data> {
        let _ = (now, most, line);
        None
    }

    /// The application writes no more. Of QUIC, the end that has connected is called once more when both directions are over.
    fn close(&mut self, now: u64, line: &mut Line) {
        let _ = (now, line);
    }

    /// The application breaks the connection off.
    fn abort(&mut self, now: u64, line: &mut Line) {
        let _ = (now, line);
    }
}
