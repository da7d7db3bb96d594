//! Calls and answers as bytes: `docs/reference/stack-protocol.md`.

use std::net::{IpAddr, SocketAddr};

use rexmit_stack::{Delivery, Event, Role};
use rexmit_wire::QuicContent;

/// The version of the protocol.
pub const VERSION: u16 = 1;
/// What is added to the kind of a call to make that of its answer.
pub const ANSWER: u8 = 0x80;
/// The kind of an answer that says what is wrong.
pub const REFUSAL: u8 = 0xff;
/// The longest frame, without its length.
pub const LONGEST: u32 = 1 << 24;
/// Items of these types and above may be passed over.
const OPTIONAL: u8 = 0x80;
/// Of HELLO: the program knows datagrams. A rexmit that does not passes it over.
const DATAGRAMS: u8 = 128;
/// Of HELLO: from now on calls and answers go through memory. Only a rexmit that offers it is told.
const MEMORY: u8 = 129;
/// Of HELLO: the program takes [`Call::Followed`].
const FOLLOWS_UP: u8 = 130;
/// Of [`Call::Followed`]: what comes after it answers this call of the application's.
const NEXT: u8 = 11;
/// The place of data that follow those read before.
const FOLLOWS: u64 = u64::MAX;

/// What rexmit asks.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// A run begins.
    Hello {
        /// The seed of all that is random.
        seed: &'a [u8; 32],
        /// JSON.
        settings: &'a str,
    },
    /// An end of a connection is made.
    Open {
        /// This end.
        local: SocketAddr,
        /// The other one.
        remote: SocketAddr,
        /// Which opens.
        role: Role,
        /// Streams that the application uses.
        streams: u16,
        /// Its writes are datagrams. Only of a program that knows them.
        datagrams: bool,
    },
    /// The application connects.
    Connect,
    /// An IP packet arrives.
    Packet(&'a [u8]),
    /// The end's timer is due.
    Timer,
    /// The application writes.
    Write {
        /// Stream, order, and when to give up.
        how: Delivery,
        /// Where the bytes begin among all that this end's application writes.
        place: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// The application reads this many bytes at most.
    Read(u32),
    /// The application writes no more.
    Close,
    /// The application breaks the connection off.
    Abort,
    /// The run is over.
    Bye,
    /// One of the others, and what the application does as soon as its answer has the event for it. Only of a program that knows it.
    Followed {
        /// It comes first.
        first: &'a Call<'a>,
        /// Told that it can read, the application reads this many bytes at most, again and again; 0: it does not.
        most: u32,
        /// Told that it can write, it makes this WRITE.
        write: Option<&'a Call<'a>>,
    },
}

impl Call<'_> {
    /// Its name, as errors have it.
    pub fn name(&self) -> &'static str {
        let shown = if let Self::Followed { first, .. } = self { first } else { self };
        NAMES[usize::from(shown.kind())]
    }

    /// Its number.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => 1,
            Self::Open { .. } => 2,
            Self::Connect => 3,
            Self::Packet(_) => 4,
            Self::Timer => 5,
            Self::Write { .. } => 6,
            Self::Read(_) => 7,
            Self::Close => 8,
            Self::Abort => 9,
            Self::Bye => 10,
            Self::Followed { .. } => 11,
        }
    }

    /// Appends its frame to `out`, as a call of an end at `now` (ns).
    pub fn append_to(&self, now: u64, end: u32, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend([0; 4]);
        out.push(self.kind());
        if !matches!(self, Self::Hello { .. } | Self::Bye) {
            out.extend(now.to_le_bytes());
            out.extend(end.to_le_bytes());
        }
        self.append_body(out);
        let len = (out.len() - begin - 4) as u32;
        out[begin..begin + 4].copy_from_slice(&len.to_le_bytes());
    }

    /// Appends to `out` what comes after the time and the end.
    fn append_body(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello { seed, settings } => {
                out.extend(VERSION.to_le_bytes());
                out.extend(*seed);
                out.extend(settings.as_bytes());
            }
            Self::Open { local, remote, role, streams, datagrams } => {
                out.push(u8::from(*role == Role::Passive) | u8::from(*datagrams) << 1);
                out.extend(streams.to_le_bytes());
                out.push(if local.is_ipv4() { 4 } else { 6 });
                for address in [local, remote] {
                    match address.ip() {
                        IpAddr::V4(ip) => out.extend(ip.octets()),
                        IpAddr::V6(ip) => out.extend(ip.octets()),
                    }
                    out.extend(address.port().to_le_bytes());
                }
            }
            Self::Packet(bytes) => out.extend(*bytes),
            Self::Write { how, place, bytes } => {
                out.extend(how.stream.to_le_bytes());
                out.push(u8::from(how.unordered) | u8::from(how.datagram) << 1);
                out.extend(how.max_retransmits.unwrap_or(u32::MAX).to_le_bytes());
                out.extend(how.lifetime.map_or(u64::MAX, |time| time.as_nanos()).to_le_bytes());
                out.extend(place.to_le_bytes());
                out.extend(*bytes);
            }
            Self::Followed { first, most, write } => {
                out.push(first.kind());
                out.extend(most.to_le_bytes());
                let begin = out.len();
                out.extend([0; 4]);
                first.append_body(out);
                let len = (out.len() - begin - 4) as u32;
                out[begin..begin + 4].copy_from_slice(&len.to_le_bytes());
                write.iter().for_each(|write| write.append_body(out));
            }
            Self::Read(max) => out.extend(max.to_le_bytes()),
            Self::Connect | Self::Timer | Self::Close | Self::Abort | Self::Bye => {}
        }
    }
}

const NAMES: [&str; 12] =
    ["", "HELLO", "OPEN", "CONNECT", "PACKET", "TIMER", "WRITE", "READ", "CLOSE", "ABORT", "BYE", "FOLLOWED"];

const WRITE: u8 = 6;
const READ: u8 = 7;

impl Call<'_> {
    /// Which call of the application's an item of [`Call::Followed`] says is answered next, after this many others.
    fn next(&self, value: &[u8], others: usize) -> Result<u8, Wrong> {
        let Self::Followed { most, write, .. } = self else { return Err("a call that none follows".into()) };
        match value {
            [READ] if *most > 0 => Ok(READ),
            [WRITE] if write.is_some() && others == 0 => Ok(WRITE),
            _ => Err("a call that the application does not make".into()),
        }
    }
}

/// What a program answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Bytes of a WRITE that were taken.
    pub taken: u32,
    /// Of a WRITE of a datagram that is too long: the most bytes that one may have now.
    pub limit: Option<u32>,
    /// What a READ gives.
    pub data: Option<Data>,
    /// Packets that leave, in order.
    pub packets: Vec<Leaving>,
    /// What the application should know, in order.
    pub events: Vec<Event>,
    /// Bytes that wait for a read, where that is news.
    pub readable: Option<u64>,
    /// When the end wants to be called, where that is news.
    pub timer: Option<Timer>,
    /// The end's state, where that is news.
    pub state: Option<State>,
    /// Lines of a key log.
    pub secrets: String,
    /// Records of a log of the connection (qlog).
    pub qlog: Vec<u8>,
    /// Of HELLO: the version that the program speaks.
    pub version: Option<u16>,
    /// Of HELLO: its name.
    pub name: Option<String>,
    /// Of HELLO: what tells one build of it from another.
    pub build: Option<String>,
    /// Of HELLO: the protocols that it speaks, between blanks.
    pub protocols: Option<String>,
    /// Of HELLO: it can be told of another run once one is over.
    pub forgets: bool,
    /// Of HELLO: it knows datagrams of QUIC.
    pub datagrams: bool,
    /// Of HELLO: what follows it goes through the memory that it was offered.
    pub memory: bool,
    /// Of HELLO: it takes [`Call::Followed`].
    pub follows_up: bool,
    /// Of [`Call::Followed`]: calls of the application's that are answered too, by their kinds, in order.
    pub next: Vec<(u8, Answer)>,
}

/// Data that the application reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// The stream.
    pub stream: u16,
    /// Where they begin in what the peer's application wrote; `None`: they follow those read before.
    pub place: Option<u64>,
    /// The stream is over after them.
    pub ends: bool,
    /// They are a datagram, of no stream.
    pub datagram: bool,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Marks of a packet of QUIC besides its reason: it carries data for the first time, it carries data that were sent
/// before, it carries a datagram.
const NEW_DATA: u8 = 16;
const REPEATS: u8 = 32;
const DATAGRAM: u8 = 64;

/// A packet that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// Why, where the program says so.
    pub why: Option<Why>,
    /// Of QUIC, it carries data of streams for the first time.
    pub new_data: bool,
    /// Of QUIC, it carries data of streams that were sent before.
    pub repeats: bool,
    /// Of QUIC, it carries a DATAGRAM frame.
    pub datagram: bool,
    /// The IP packet.
    pub bytes: Vec<u8>,
}

impl Leaving {
    /// For QUIC, what is sealed in it, as the program says.
    pub fn content(&self) -> QuicContent {
        let datagram = self.datagram;
        // What is new may be the datagram alone.
        let new_data = self.new_data || self.why == Some(Why::New) && !datagram;
        let repeats = self.repeats || matches!(self.why, Some(Why::Timeout | Why::Loss));
        QuicContent { new_data, repeats, ack_only: self.why == Some(Why::Ack), datagram }
    }
}

/// Why a packet leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Data for the first time.
    New,
    /// Data again, since a timer has expired.
    Timeout,
    /// Data again, since acknowledgments show that they were lost.
    Loss,
    /// A probe.
    Probe,
    /// An acknowledgment.
    Ack,
    /// Of the handshake or the shutdown.
    Control,
    /// A reset.
    Reset,
}

const WHYS: [Why; 7] = [Why::New, Why::Timeout, Why::Loss, Why::Probe, Why::Ack, Why::Control, Why::Reset];

/// When an end wants to be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timer {
    /// No more.
    #[default]
    None,
    /// At this time of the run (ns).
    At(u64),
    /// Every so many ns.
    Every(u64),
}

/// An end's state; what is absent is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Its name, such as `ESTABLISHED`.
    pub name: String,
    /// Values by the number of [`FIELDS`].
    pub values: [Option<u64>; FIELDS],
}

/// This many values a state may have.
pub const FIELDS: usize = 14;

/// The events by their numbers, from 0.
pub const EVENTS: [Event; 7] = [
    Event::Connected,
    Event::Writable,
    Event::Readable,
    Event::EndOfStream,
    Event::Closed,
    Event::Reset,
    Event::TimedOut,
];

/// What is wrong with an answer, in words that follow "it answered".
type Wrong = String;

impl Answer {
    /// Reads the answer to a call of this kind; `frame` is what follows its length.
    ///
    /// # Errors
    /// `Err(Ok(text))` where the program itself says what is wrong, `Err(Err(text))` where the answer is not one.
    pub fn parse(call: &Call<'_>, frame: &[u8]) -> Result<Self, Result<String, Wrong>> {
        let (kind, items) = frame.split_first().ok_or_else(|| Err("with an empty frame".to_string()))?;
        if *kind == REFUSAL {
            return Err(Ok(one_line(items)));
        }
        if *kind != call.kind() | ANSWER {
            let text = match NAMES.get(usize::from(kind ^ ANSWER)).filter(|name| !name.is_empty()) {
                Some(other) if kind & ANSWER != 0 => format!("as if it were {other}"),
                _ => format!("with a frame of the unknown kind {kind}"),
            };
            return Err(Err(text));
        }
        let mut answer = Self::default();
        let mut rest = Reader(items);
        while !rest.0.is_empty() {
            let item =
                rest.u8().zip(rest.u32()).and_then(|(kind, len)| Some((kind, rest.take(len as usize)?)));
            let Some((kind, value)) = item else { return Err(Err("with an item that is cut off".into())) };
            if kind == NEXT && matches!(call, Call::Followed { .. }) {
                answer.next.push((call.next(value, answer.next.len()).map_err(Err)?, Self::default()));
                continue;
            }
            let part = match answer.next.len() {
                0 => &mut answer,
                count => &mut answer.next[count - 1].1,
            };
            part.take(kind, Reader(value)).map_err(Err)?;
        }
        let mut parts = answer.next.iter().map(|(kind, part)| (*kind, part));
        let unread = |(kind, part): (u8, &Self)| part.data.is_some() && kind != READ;
        if unread((call.kind(), &answer)) || parts.any(unread) {
            return Err(Err("with data that nobody reads".into()));
        }
        Ok(answer)
    }

    fn take(&mut self, kind: u8, mut value: Reader<'_>) -> Result<(), Wrong> {
        let wrong = || format!("with an item of type {kind} that is not {}", item_name(kind));
        match kind {
            1 => self.taken = value.u32().ok_or_else(wrong)?,
            2 => self.data = Some(value.data().ok_or_else(wrong)?),
            3 => {
                let number = value.u8().ok_or_else(wrong)?;
                let why = match number & !(NEW_DATA | REPEATS | DATAGRAM) {
                    0 => None,
                    number => Some(*WHYS.get(usize::from(number) - 1).ok_or_else(wrong)?),
                };
                let has = |mark: u8| number & mark != 0;
                self.packets.push(Leaving {
                    why,
                    new_data: has(NEW_DATA),
                    repeats: has(REPEATS),
                    datagram: has(DATAGRAM),
                    bytes: value.rest().to_vec(),
                });
            }
            4 => {
                let number = value.u8().ok_or_else(wrong)?;
                self.events.push(*EVENTS.get(usize::from(number)).ok_or_else(wrong)?);
            }
            5 => self.readable = Some(value.u64().ok_or_else(wrong)?),
            6 => {
                let timer = value.u8().zip(value.u64()).ok_or_else(wrong)?;
                self.timer = Some(match timer {
                    (0, _) => Timer::None,
                    (1, at) => Timer::At(at),
                    (2, every) if every > 0 => Timer::Every(every),
                    _ => return Err(wrong()),
                });
            }
            7 => self.state = Some(value.state().ok_or_else(wrong)?),
            8 => self.secrets.push_str(value.text().ok_or_else(wrong)?),
            10 => self.qlog.extend(value.rest()),
            9 => self.limit = Some(value.u32().ok_or_else(wrong)?),
            16 => self.version = Some(value.u16().ok_or_else(wrong)?),
            17 => self.name = Some(value.text().ok_or_else(wrong)?.into()),
            18 => self.build = Some(value.text().ok_or_else(wrong)?.into()),
            19 => self.protocols = Some(value.text().ok_or_else(wrong)?.into()),
            20 => self.forgets = true,
            DATAGRAMS => self.datagrams = true,
            MEMORY => self.memory = true,
            FOLLOWS_UP => self.follows_up = true,
            _ if kind >= OPTIONAL => return Ok(()),
            _ => return Err(format!("with an item of the unknown type {kind}")),
        }
        // A value that is longer than it should be is a different one.
        if value.0.is_empty() || matches!(kind, 20 | DATAGRAMS | MEMORY | FOLLOWS_UP) {
            Ok(())
        } else {
            Err(wrong())
        }
    }
}

fn item_name(kind: u8) -> &'static str {
    match kind {
        1 => "a number of taken bytes",
        2 => "data",
        3 => "a packet",
        4 => "an event",
        5 => "a number of readable bytes",
        6 => "a timer",
        7 => "a state",
        8 => "text of secrets",
        9 => "a number of bytes",
        16 => "a version",
        _ => "text",
    }
}

/// Text of a program's as a part of one line.
pub fn one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let words: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect();
    words.trim().to_string()
}

/// What is left of a frame.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.fixed::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.fixed().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.fixed().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.fixed().map(u64::from_le_bytes)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.rest()).ok()
    }

    fn data(&mut self) -> Option<Data> {
        let (stream, place, flags) = (self.u16()?, self.u64()?, self.u8()?);
        let place = (place != FOLLOWS).then_some(place);
        let (ends, datagram) = (flags == 1, flags == 2);
        (flags <= 2).then(|| Data { stream, place, ends, datagram, bytes: self.rest().to_vec() })
    }

    fn state(&mut self) -> Option<State> {
        let len = self.u8()?;
        let name = std::str::from_utf8(self.take(len.into())?).ok()?;
        let plain = name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_');
        let mut state = State { name: plain.then(|| name.to_string())?, ..State::default() };
        while !self.0.is_empty() {
            let (field, value) = (self.u8()?, self.u64()?);
            // One that is not known here is of a version to come.
            if let Some(known) = state.values.get_mut(usize::from(field)) {
                *known = Some(value);
            }
        }
        Some(state)
    }
}

#[cfg(test)]
mod tests;
