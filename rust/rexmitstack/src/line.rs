//! What an end says while it is called.

/// What an application should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection is there.
    Connected,
    /// What was not taken may be written again.
    Writable,
    /// There is something to read.
    Readable,
    /// Nothing more comes; of QUIC, on one stream.
    EndOfStream,
    /// The connection is over.
    Closed,
    /// The peer has broken it off.
    Reset,
    /// It was given up.
    TimedOut,
}

/// Why a packet leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Why {
    /// What its bytes show.
    #[default]
    AsItShows,
    /// Data for the first time.
    New,
    /// Data again, by a timer.
    Timeout,
    /// Data again, since they were lost.
    Loss,
    /// A probe.
    Probe,
    /// An acknowledgment.
    Ack,
    /// Handshake or shutdown.
    Control,
    /// A reset.
    Reset,
}

/// Why a packet leaves, and of QUIC what data are in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// Why.
    pub why: Why,
    /// It carries data of streams for the first time.
    pub new_data: bool,
    /// It carries data of streams that were sent before.
    pub repeats: bool,
    /// It carries a datagram.
    pub datagram: bool,
}

impl From<Why> for Reasons {
    fn from(why: Why) -> Self {
        Self { why, ..Self::default() }
    }
}

impl Reasons {
    fn byte(self) -> u8 {
        let marks = [(self.new_data, 16), (self.repeats, 32), (self.datagram, 64)];
        self.why as u8 + marks.iter().filter(|(is, _)| *is).map(|(_, mark)| mark).sum::<u8>()
    }
}

/// A number in the state of an end; times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The congestion window.
    Cwnd,
    /// The slow-start threshold.
    Ssthresh,
    /// Bytes in flight.
    InFlight,
    /// The peer's window.
    SndWnd,
    /// Bytes in the send buffer.
    SendQueue,
    /// Bytes to be read.
    RecvQueue,
    /// The smoothed RTT.
    Srtt,
    /// Its variation.
    Rttvar,
    /// The retransmission timeout.
    Rto,
    /// When the retransmission timer is due.
    RexmtDue,
    /// What the sender does: 0 open, 1 disorder, 2 recovery, 3 loss.
    Phase,
    /// Expiries of the timer since the start.
    Timeouts,
    /// Fast retransmits since the start.
    FastRetransmits,
    /// Duplicate acknowledgments since the start.
    DupAcks,
}

/// How an end says what it does while it is called.
#[derive(Debug)]
pub struct Line {
    pub(crate) items: Vec<u8>,
    pub(crate) due: u64,
    pub(crate) ticks: bool,
    /// Events of the answer so far.
    pub(crate) told: Vec<Event>,
    /// Bytes that wait for a read, as was last said.
    pub(crate) readable: u64,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self { items: Vec::new(), due: u64::MAX, ticks: false, told: Vec::new(), readable: 0 }
    }

    pub(crate) fn item(&mut self, kind: u8, parts: &[&[u8]]) {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        self.items.push(kind);
        self.items.extend((len as u32).to_le_bytes());
        parts.iter().for_each(|part| self.items.extend_from_slice(part));
    }

    /// Lets an IP packet leave.
    pub fn send(&mut self, packet: &[u8], reasons: Reasons) {
        self.item(3, &[&[reasons.byte()], packet]);
    }

    /// Tells the application.
    pub fn tell(&mut self, event: Event) {
        self.told.push(event);
        self.item(4, &[&[event as u8]]);
    }

    /// Says how many bytes wait for a read.
    pub fn set_readable(&mut self, count: u64) {
        self.readable = count;
        self.item(5, &[&count.to_le_bytes()]);
    }

    /// The datagram that is written is too long: so many bytes would fit now.
    pub fn set_limit(&mut self, most: u32) {
        self.item(9, &[&most.to_le_bytes()]);
    }

    /// Asks for a call of [`End::timer`](crate::End::timer) at a time of the run.
    pub fn set_timer(&mut self, at: u64) {
        (self.due, self.ticks) = (at, false);
        self.item(6, &[&[1], &at.to_le_bytes()]);
    }

    /// Asks for no more.
    pub fn stop_timer(&mut self) {
        (self.due, self.ticks) = (u64::MAX, false);
        self.item(6, &[&[0], &0_u64.to_le_bytes()]);
    }

    /// Asks for a call of [`End::timer`](crate::End::timer) every so many nanoseconds.
    pub fn tick(&mut self, every: u64) {
        (self.due, self.ticks) = (0, true);
        self.item(6, &[&[2], &every.to_le_bytes()]);
    }

    /// Tells the end's state for tables, with what is known of the fields.
    pub fn set_state(&mut self, name: &str, values: &[(Field, u64)]) {
        let mut packed = vec![name.len() as u8];
        packed.extend(name.as_bytes());
        for (field, value) in values {
            packed.push(*field as u8);
            packed.extend(value.to_le_bytes());
        }
        self.item(7, &[&packed]);
    }

    /// Adds lines of NSS's key log, by which captures are decrypted.
    pub fn add_secrets(&mut self, lines: &str) {
        self.item(8, &[lines.as_bytes()]);
    }

    /// Adds records of the connection's qlog, each whole, where [`Run::qlog`](crate::Run::qlog) asks for them.
    pub fn add_qlog(&mut self, records: &[u8]) {
        self.item(10, &[records]);
    }
}
