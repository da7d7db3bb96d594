//! A TCP that keeps one segment in flight, as examples/stacks/stop_and_wait.py: a timer of a second that doubles. IPv4 only.
//!
//!     cargo build --release --example stop_and_wait
//!     hosts.server.stack = { program = "target/release/examples/stop_and_wait" }

use std::io::Result;
use std::net::IpAddr;

use rexmitstack::{
    About, Data, End, Event, Field, How, Line, Opening, Run, Stack, Why, folded, serve, sum, unwrap, wrap,
};

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;
const SECOND: u64 = 1_000_000_000;
const BUFFER: usize = 65_536;
const TRIES: u32 = 8;

struct StopAndWait(Run);

impl Stack for StopAndWait {
    type End = Tcp;

    fn begin(run: Run) -> std::result::Result<Self, String> {
        Ok(Self(run))
    }

    fn open(&mut self, _: u64, opening: Opening, _: &mut Line) -> Tcp {
        Tcp {
            opening,
            state: if opening.active { "CLOSED" } else { "LISTEN" },
            next: self.0.random.next_u64() as u32,
            mss: self.0.mtu - 40,
            expected: 0,
            tries: 0,
            waiting: Vec::new(),
            inbox: Vec::new(),
            flight: None,
            closing: false,
            fin_sent: false,
            peer_done: false,
            short: false,
        }
    }
}

struct Segment {
    number: u32,
    flags: u8,
    data: Vec<u8>,
}

struct Tcp {
    opening: Opening,
    state: &'static str,
    next: u32,
    expected: u32,
    mss: usize,
    tries: u32,
    waiting: Vec<u8>,
    inbox: Vec<u8>,
    flight: Option<Segment>,
    closing: bool,
    fin_sent: bool,
    peer_done: bool,
    short: bool,
}

fn octets(address: IpAddr) -> [u8; 4] {
    match address {
        IpAddr::V4(ip) => ip.octets(),
        IpAddr::V6(_) => [0; 4],
    }
}

impl Tcp {
    fn emit(&self, segment: &Segment, why: Why, line: &mut Line) {
        let Opening { local, remote, .. } = self.opening;
        let mut tcp = [local.port().to_be_bytes(), remote.port().to_be_bytes()].concat();
        tcp.extend(segment.number.to_be_bytes());
        tcp.extend(self.expected.to_be_bytes());
        let syn = segment.flags & SYN > 0;
        tcp.extend([if syn { 6 << 4 } else { 5 << 4 }, segment.flags]);
        tcp.extend((BUFFER - self.inbox.len()).min(65_535).to_be_bytes().last_chunk::<2>().unwrap());
        tcp.extend([0; 4]);
        if syn {
            tcp.extend([2, 4]);
            tcp.extend((self.mss as u16).to_be_bytes());
        }
        tcp.extend(&segment.data);
        let pseudo = sum(sum(6 + tcp.len() as u64, &octets(local.ip())), &octets(remote.ip()));
        let checksum = folded(sum(pseudo, &tcp));
        tcp[16..18].copy_from_slice(&checksum.to_be_bytes());
        line.send(&wrap(&self.opening, 6, &tcp), why.into());
    }

    fn ack(&self, why: Why, line: &mut Line) {
        self.emit(&Segment { number: self.next, flags: ACK, data: Vec::new() }, why, line);
    }

    fn again(&self, now: u64, why: Why, line: &mut Line) {
        if let Some(flight) = &self.flight {
            self.emit(flight, why, line);
            line.set_timer(now + (SECOND << self.tries));
        }
    }

    fn start(&mut self, now: u64, flags: u8, data: Vec<u8>, line: &mut Line) {
        let number = self.next;
        self.next = number.wrapping_add(data.len() as u32 + u32::from(flags & (SYN | FIN) > 0));
        (self.flight, self.tries) = (Some(Segment { number, flags, data }), 0);
        self.again(now, Why::AsItShows, line);
    }

    fn push(&mut self, now: u64, line: &mut Line) {
        if self.flight.is_none() && !matches!(self.state, "CLOSED" | "LISTEN") {
            if !self.waiting.is_empty() {
                let data = self.waiting.drain(..self.waiting.len().min(self.mss)).collect();
                self.start(now, ACK | PSH, data, line);
                if std::mem::take(&mut self.short) {
                    line.tell(Event::Writable);
                }
            } else if self.closing && !std::mem::replace(&mut self.fin_sent, true) {
                self.start(now, ACK | FIN, Vec::new(), line);
            }
        }
        let waiting = self.waiting.len() as u64;
        line.set_state(self.state, &[(Field::Cwnd, self.mss as u64), (Field::SendQueue, waiting)]);
    }

    fn finish(&mut self, event: Event, line: &mut Line) {
        (self.state, self.flight) = ("CLOSED", None);
        self.waiting.clear();
        line.stop_timer();
        line.tell(event);
    }

    fn acknowledged(&mut self, ack: u32, flags: u8, line: &mut Line) {
        if self.flight.is_some() && flags & ACK > 0 && ack == self.next {
            self.flight = None;
            line.stop_timer();
            if matches!(self.state, "SYN-SENT" | "SYN-RECEIVED") {
                self.state = "ESTABLISHED";
                line.tell(Event::Connected);
            }
        }
    }
}

impl End for Tcp {
    fn connect(&mut self, now: u64, line: &mut Line) {
        self.state = "SYN-SENT";
        self.start(now, SYN, Vec::new(), line);
    }

    fn packet(&mut self, now: u64, packet: &[u8], line: &mut Line) {
        let Some(tcp) = unwrap(packet).filter(|tcp| tcp.len() >= 20 && self.state != "CLOSED") else {
            return;
        };
        let word = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
        let (number, flags) = (word(4), tcp[13]);
        let Some(payload) = tcp.get(usize::from(tcp[12] >> 4) * 4..) else { return };
        if flags & RST > 0 {
            return self.finish(Event::Reset, line);
        }
        if flags & SYN > 0 {
            self.expected = number.wrapping_add(1);
            if self.state == "LISTEN" {
                self.state = "SYN-RECEIVED";
                return self.start(now, SYN | ACK, Vec::new(), line);
            }
            if flags & ACK == 0 || self.state != "SYN-SENT" {
                return match &self.flight {
                    Some(flight) => self.emit(flight, Why::AsItShows, line),
                    None => self.ack(Why::AsItShows, line),
                };
            }
        }
        self.acknowledged(word(8), flags, line);
        if number == self.expected && !payload.is_empty() && self.inbox.len() + payload.len() <= BUFFER {
            self.inbox.extend(payload);
            self.expected = number.wrapping_add(payload.len() as u32);
            line.set_readable(self.inbox.len() as u64);
            line.tell(Event::Readable);
        }
        let end = number.wrapping_add(payload.len() as u32);
        if flags & FIN > 0 && end == self.expected && !std::mem::replace(&mut self.peer_done, true) {
            self.expected = self.expected.wrapping_add(1);
            line.tell(Event::EndOfStream);
        }
        if !payload.is_empty() || flags & (SYN | FIN) > 0 {
            self.ack(Why::AsItShows, line);
        }
        self.push(now, line);
        if self.state == "ESTABLISHED" && self.peer_done && self.fin_sent && self.flight.is_none() {
            self.state = "TIME-WAIT";
            line.tell(Event::Closed);
        }
    }

    fn timer(&mut self, now: u64, line: &mut Line) {
        if self.flight.is_none() {
            return;
        }
        self.tries += 1;
        if self.tries > TRIES {
            return self.finish(Event::TimedOut, line);
        }
        self.again(now, Why::Timeout, line);
    }

    fn write(&mut self, now: u64, bytes: &[u8], _: How, line: &mut Line) -> usize {
        let room = if self.closing || self.state == "CLOSED" {
            0
        } else {
            BUFFER.saturating_sub(self.waiting.len())
        };
        let taken = room.min(bytes.len());
        self.short = taken < bytes.len();
        self.waiting.extend(&bytes[..taken]);
        self.push(now, line);
        taken
    }

    fn read(&mut self, _: u64, most: usize, line: &mut Line) -> Option<Data> {
        let full = self.inbox.len() + self.mss > BUFFER;
        let bytes = self.inbox.drain(..self.inbox.len().min(most)).collect();
        line.set_readable(self.inbox.len() as u64);
        if full && self.state == "ESTABLISHED" {
            self.ack(Why::Ack, line);
        }
        Some(Data { bytes, ..Data::default() })
    }

    fn close(&mut self, now: u64, line: &mut Line) {
        self.closing = true;
        if matches!(self.state, "LISTEN" | "CLOSED") {
            self.finish(Event::Closed, line);
        }
        self.push(now, line);
    }

    fn abort(&mut self, _: u64, line: &mut Line) {
        if !matches!(self.state, "LISTEN" | "CLOSED") {
            self.emit(&Segment { number: self.next, flags: RST | ACK, data: Vec::new() }, Why::Reset, line);
        }
        self.finish(Event::Closed, line);
    }
}

fn main() -> Result<()> {
    serve::<StopAndWait>(&About { name: "stop-and-wait", build: "1", protocols: "tcp", forgets: true })
}
