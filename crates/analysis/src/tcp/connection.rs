//! A connection: two halves, an opening and an end.

use std::net::SocketAddr;

use rexmit_units::Instant;
use rexmit_wire::{Checksum, Flags};

use super::acks::Ack;
use super::board::Stamp;
use super::copies::Copies;
use super::half::{AckPacket, Half, Sent, Terms};
use super::key::Key;
use super::opening::Opening;
use super::passed::{Passed, Placed};
use crate::core::certain::{self, Exclusion, Facts};
use crate::core::policy::TcpPolicy;
use crate::core::side::{SideName, Sides};
use crate::limits::Steps;
use crate::options::Options;
use crate::packet::{Packet, Tcp};
use crate::rows::{
    Capabilities, Cause, ConnectionRow, Evidence, Kind, Need, Proof, RetransmissionRow, Rows, SackRow,
    SegmentRow, SideRow,
};

/// A packet of a connection with its note.
pub(super) struct Arrived<'a> {
    pub packet: &'a Packet,
    pub tcp: &'a Tcp,
    /// The comment that the capture has on it.
    pub note: Option<&'a str>,
    /// The identification of the packet that its host sent before it, if that was another connection's.
    pub other_ident: Option<u16>,
}

/// A connection that is open, or was lately.
#[derive(Debug)]
pub(super) struct Connection {
    /// Its number, from 1.
    pub number: u32,
    interface: u32,
    start: Instant,
    end: Instant,
    packets: u64,
    addresses: Sides<SocketAddr>,
    /// The client's and the server's data.
    halves: Sides<Half>,
    offered: Sides<Capabilities>,
    /// Bytes of data in the largest packet of a side whose SYN was not seen.
    largest: Sides<u32>,
    /// Which side's SYN looks like that of a system that probes for tail losses.
    probes: Sides<bool>,
    checksums: Sides<Checksums>,
    copies: Sides<Copies>,
    opening: Opening,
    fins: Sides<bool>,
    reset: bool,
    options: Options,
}

/// Right and wrong checksums of a side.
#[derive(Clone, Copy, Debug, Default)]
struct Checksums {
    good: u64,
    bad: u64,
}

/// What a side's packet did.
#[derive(Clone, Copy, Debug)]
struct Effect {
    placed: Placed,
    seq: i64,
    end: i64,
    ack: Option<i64>,
    window: u64,
    damaged: bool,
}

impl Connection {
    /// The connection of which `packet` is the first one.
    pub(super) fn new(number: u32, packet: &Packet, tcp: &Tcp, options: &Options) -> Self {
        let answers = tcp.flags.has(Flags::SYN.with(Flags::ACK));
        let (client, server) = if answers { (packet.dst, packet.src) } else { (packet.src, packet.dst) };
        let policy = &options.policy.tcp;
        Self {
            number,
            interface: packet.interface,
            start: packet.time,
            end: packet.time,
            packets: 0,
            addresses: Sides { client, server },
            halves: Sides::from_fn(|side| Half::new(side, policy, options.tables.held)),
            offered: Sides::default(),
            largest: Sides::default(),
            probes: Sides::default(),
            checksums: Sides::default(),
            copies: Sides::default(),
            opening: Opening::default(),
            fins: Sides::default(),
            reset: false,
            options: *options,
        }
    }

    /// True if the packet opens another connection between the same ports: a SYN with another initial sequence number,
    /// where the one before had ended or is known to be another.
    pub(super) fn is_replaced_by(&self, packet: &Packet, tcp: &Tcp) -> bool {
        let from = self.sender(packet);
        let syn = tcp.flags.has(Flags::SYN) && !tcp.flags.has(Flags::ACK);
        let other = self.halves.iter().all(|half| half.space.initial() != Some(tcp.seq));
        syn && other && (self.is_ending() || self.offered[from].syn)
    }

    /// Bytes that it takes, with what it keeps.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + self.halves.iter().map(Half::heap).sum::<usize>()
    }

    /// Its packets so far.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// A client and a server, and the interface.
    pub(super) fn key(&self) -> Key {
        Key::new(self.interface, self.addresses.client, self.addresses.server).0
    }

    /// A RST was seen, or both FINs.
    pub(super) fn is_over(&self) -> bool {
        self.reset || self.fins.client && self.fins.server
    }

    /// When its last packet was seen.
    pub(super) fn last(&self) -> Instant {
        self.end
    }

    fn sender(&self, packet: &Packet) -> SideName {
        if packet.src == self.addresses.client { SideName::Client } else { SideName::Server }
    }

    fn is_ending(&self) -> bool {
        self.reset || self.fins.client || self.fins.server
    }

    /// Takes the next packet; it takes the steps of work that it needs.
    pub(super) fn push(&mut self, arrived: &Arrived<'_>, rows: &mut Rows, steps: &mut Steps) {
        let from = self.sender(arrived.packet);
        self.halves[from].begin(steps.pool);
        self.judge(arrived, rows);
        self.halves[from].end(steps);
    }

    fn judge(&mut self, arrived: &Arrived<'_>, rows: &mut Rows) {
        let &Arrived { packet, tcp, .. } = arrived;
        self.packets += 1;
        self.end = self.end.max(packet.time);
        let from = self.sender(packet);
        let damaged = self.checksums[from].is_damage(packet.checksum, self.options.policy.tcp.counts.damaged);
        let copy = !damaged && self.copies[from].is_copy(packet, tcp);
        let effect =
            if damaged || copy { self.ignored(from, tcp, damaged) } else { self.take(from, arrived, rows) };
        let mss = self.terms(from).mss;
        let Effect { ref placed, seq, end, .. } = effect;
        self.halves[from].measure(&Passed {
            time: packet.time,
            number: packet.number,
            tcp,
            placed,
            seq,
            end,
            damaged,
            mss,
        });
        if self.options.tables.held {
            self.halves[from].take_held(&mut self.options.out(self.number, rows));
        }
        if self.options.tables.segments {
            self.write(from, arrived, &effect, rows);
        }
    }

    /// Ends it.
    pub(super) fn finish(mut self, rows: &mut Rows) {
        let mut out = self.options.out(self.number, rows);
        self.halves.iter_mut().for_each(|half| half.finish(&mut out));
        let Sides { client, server } = Sides::from_fn(|side| self.side_row(side));
        rows.connections.push(ConnectionRow {
            connection: self.number,
            interface: self.interface,
            start: self.start,
            end: self.end,
            packets: self.packets,
            handshake: self.opening.row(self.fins, self.reset),
            vantage: self.opening.vantage(),
            client,
            server,
        });
    }

    fn side_row(&self, side: SideName) -> SideRow {
        let mut row = SideRow::new(self.addresses[side]);
        row.offered = self.offered[side];
        let (own, other) = (&self.halves[side], &self.halves[side.other()]);
        let una = own.acks.window.map(|_| own.acks.una);
        own.measures.fill(&mut row, self.end, una);
        row.held = own.held_times();
        other.measures.fill_answers(&mut row, &self.options.policy.tcp.counts);
        row
    }

    /// A packet that changes nothing: its receiver drops it, or has it already.
    fn ignored(&mut self, from: SideName, tcp: &Tcp, damaged: bool) -> Effect {
        let half = &mut self.halves[from];
        let seq = half.space.offset(tcp.seq);
        let kind = if damaged { Kind::Bare } else { Kind::Copy };
        let end = seq + space_taken(tcp);
        Effect { placed: Placed::bare(kind), seq, end, ack: None, window: 0, damaged }
    }

    fn take(&mut self, from: SideName, arrived: &Arrived<'_>, rows: &mut Rows) -> Effect {
        let &Arrived { packet, tcp, .. } = arrived;
        if tcp.flags.has(Flags::SYN) {
            self.take_syn(from, tcp);
        } else if !self.offered[from].syn {
            self.take_unopened(from, tcp);
        }
        self.fins[from] |= tcp.flags.has(Flags::FIN);
        self.reset |= tcp.flags.has(Flags::RST);
        self.opening.see(packet.time, from, tcp, &self.options.policy.tcp.copies);
        self.halves.server.asked_again |= self.opening.is_repeated();
        self.set_loop_times();
        let (ack, window) = self.take_ack(from, packet, tcp, rows);
        if let Some(ident) = arrived.other_ident {
            self.halves[from].missing.other_connection(ident);
        }
        let (placed, seq, end) = self.take_data(from, packet, tcp, rows);
        self.halves[from].release(packet.time, &mut self.options.out(self.number, rows));
        Effect { placed, seq, end, ack, window, damaged: false }
    }

    fn take_syn(&mut self, from: SideName, tcp: &Tcp) {
        self.halves[from].space.start_at(tcp.seq);
        let offered = &mut self.offered[from];
        offered.syn = true;
        offered.mss = tcp.mss.or(offered.mss);
        offered.window_scale = tcp.window_scale.map(|shift| shift.min(14)).or(offered.window_scale);
        offered.sack_permitted |= tcp.sack_permitted;
        offered.timestamps |= tcp.timestamps.is_some();
        offered.ecn |= tcp.flags.has(Flags::ECE);
        self.probes[from] = looks_like_linux(tcp, &self.options.policy.tcp);
    }

    /// What a packet shows of a side whose SYN was not seen.
    fn take_unopened(&mut self, from: SideName, tcp: &Tcp) {
        let offered = &mut self.offered[from];
        offered.timestamps |= tcp.timestamps.is_some();
        if !tcp.sack.is_empty() {
            // Both must have permitted it.
            self.offered.iter_mut().filter(|offered| !offered.syn).for_each(|o| o.sack_permitted = true);
        }
        self.largest[from] = self.largest[from].max(tcp.len);
    }

    /// True if it is known how windows are scaled: both SYNs were seen, or one that offers no scaling.
    fn window_is_known(&self) -> bool {
        let refuses = |offered: &Capabilities| offered.syn && offered.window_scale.is_none();
        self.offered.iter().all(|offered| offered.syn) || self.offered.iter().any(refuses)
    }

    fn set_loop_times(&mut self) {
        let Some((loops, sure)) = self.opening.fresh_loops() else { return };
        for side in SideName::BOTH {
            let clock = &mut self.halves[side].clock;
            (clock.loop_time, clock.opening, clock.sure) = (loops[side], loops[side.other()], sure);
        }
    }

    fn take_ack(
        &mut self,
        from: SideName,
        packet: &Packet,
        tcp: &Tcp,
        rows: &mut Rows,
    ) -> (Option<i64>, u64) {
        let window = u64::from(tcp.window) << self.shift(from, tcp);
        if tcp.flags.has(Flags::RST) {
            return (None, window);
        }
        let known = self.window_is_known();
        self.halves[from.other()].window_known = known;
        self.halves[from].measures.offered(packet.time, window, tcp.flags.has(Flags::SYN), known);
        if !tcp.flags.has(Flags::ACK) {
            return (None, window);
        }
        let terms = self.terms(from.other());
        let mut out = self.options.out(self.number, rows);
        let half = &mut self.halves[from.other()];
        let number = half.space.offset(tcp.ack);
        let bare = tcp.len == 0 && !tcp.flags.any(Flags::SYN.with(Flags::FIN));
        let stamp = tcp.timestamps.map(|stamps| stamps.value);
        let mut ack =
            Ack { time: packet.time, ack: number, window, bare, stamp, sack: [(0, 0); 4], blocks: 0 };
        for &(left, right) in tcp.sack.as_slice() {
            ack.sack[usize::from(ack.blocks)] = (half.space.offset(left), half.space.offset(right));
            ack.blocks += 1;
        }
        let echo = tcp.timestamps.map(|stamps| stamps.echo);
        let news = half.acknowledged(&ack, &AckPacket { number: packet.number, echo }, &terms, &mut out);
        half.release(packet.time, &mut out);
        if self.options.tables.segments && ack.blocks > 0 {
            let dsack = news.dsack.is_some();
            rows.sacks.extend(self.sack_rows(from, packet.number, &ack, dsack));
        }
        (Some(number), window)
    }

    fn take_data(
        &mut self,
        from: SideName,
        packet: &Packet,
        tcp: &Tcp,
        rows: &mut Rows,
    ) -> (Placed, i64, i64) {
        let terms = self.terms(from);
        let half = &mut self.halves[from];
        let seq = half.space.offset(tcp.seq);
        let end = seq + space_taken(tcp);
        let stamp = Stamp {
            time: packet.time,
            number: packet.number,
            tsval: tcp.timestamps.map_or(0, |stamps| stamps.value),
            ident: packet.ident,
            order: half.measures.next_order(),
        };
        // While the side itself misses data, it echoes what came before the hole (RFC 7323 section 4.3).
        let current = tcp.flags.has(Flags::ACK) && tcp.sack.is_empty();
        let echo = tcp.timestamps.filter(|_| current).map(|stamps| stamps.echo);
        let bare = end == seq;
        let missing = half.missing.before(packet.ident, wire_packets(tcp.len, terms.mss), bare);
        let sent = Sent { seq, end, len: tcp.len, flags: tcp.flags, stamp, echo, missing };
        let nothing = Placed::bare(Kind::Bare);
        if tcp.flags.has(Flags::RST) {
            return (nothing, seq, end);
        }
        // A probe of an idle connection, or of a closed window, stands just before what is expected next and has no
        // data or a byte that was acknowledged long ago. Data may be outstanding that a window which closed refused.
        let refused = half.acks.window == Some(0) && half.acks.una < half.edge;
        let idle = half.acks.window.is_some() && half.acks.una == half.edge && !self.fins[from];
        // Without data, what follows an acknowledgment answers it: a probe's byte may have left the sender's next number
        // behind what is acknowledged.
        let soon = |last: Instant| packet.time.saturating_since(last) <= self.options.policy.tcp.prompt.most;
        let answers = tcp.len == 0 && half.acks.last.is_some_and(soon);
        let no_syn_fin = !tcp.flags.any(Flags::SYN.with(Flags::FIN));
        let before = half.started && tcp.len <= 1 && seq + 1 == half.acks.una;
        if (idle || refused) && !answers && before && no_syn_fin && !half.is_byte_again(&sent) {
            rows.retransmissions.push(probe(half, &sent, &terms));
            return (Placed { again: tcp.len, ..Placed::bare(Kind::Probe) }, seq, end);
        }
        if end == seq {
            half.sent_bare(&sent);
            return (nothing, seq, end);
        }
        (half.sent(&sent, &terms), seq, end)
    }

    fn terms(&self, from: SideName) -> Terms {
        let stamps = self.offered.iter().all(|offered| offered.timestamps);
        let usual = 1460 - if stamps { Capabilities::TIMESTAMPS } else { 0 };
        let mss = match self.offered[from.other()].segment_from(&self.offered[from]) {
            Some(mss) => mss,
            // A full segment is the largest one, unless that is a super-packet.
            None if (536..usual).contains(&self.largest[from]) => self.largest[from],
            None => usual,
        };
        let sack = self.offered.iter().all(|offered| offered.sack_permitted);
        Terms { connection: self.number, sack, mss, probes: self.probes[from] }
    }

    /// The shift of the windows that `from` advertises; a SYN's is never scaled (RFC 7323 section 2.2).
    fn shift(&self, from: SideName, tcp: &Tcp) -> u8 {
        match (self.offered[from].window_scale, self.offered[from.other()].window_scale) {
            (Some(shift), Some(_)) if !tcp.flags.has(Flags::SYN) => shift,
            _ => 0,
        }
    }

    fn write(&self, from: SideName, arrived: &Arrived<'_>, effect: &Effect, rows: &mut Rows) {
        let &Arrived { packet, tcp, note, .. } = arrived;
        rows.notes += note.map_or(0, str::len) as u64;
        rows.segments.push(SegmentRow {
            connection: self.number,
            side: self.halves[from].side,
            number: packet.number,
            time: packet.time,
            seq: effect.seq,
            end: effect.end,
            len: tcp.len,
            flags: tcp.flags,
            kind: effect.placed.kind,
            transmission: effect.placed.transmission,
            outstanding: self.halves[from].outstanding(),
            ack: effect.ack,
            window: effect.window,
            duplicate: if effect.ack.is_some() { self.halves[from.other()].acks.duplicates } else { 0 },
            urgent: if tcp.flags.has(Flags::URG) { 0 } else { tcp.urgent },
            damaged: effect.damaged,
            note: note.map(Into::into),
        });
    }

    fn sack_rows(
        &self,
        from: SideName,
        number: u64,
        ack: &Ack,
        dsack: bool,
    ) -> impl Iterator<Item = SackRow> {
        let (connection, side) = (self.number, self.halves[from].side);
        let row = move |(at, &(left, right))| {
            let duplicate = at == 0 && dsack;
            SackRow { connection, side, number, time: ack.time, left, right, duplicate }
        };
        ack.sack[..usize::from(ack.blocks)].iter().enumerate().map(row)
    }
}

impl Checksums {
    /// Counts a packet; true if its wrong checksum means damage. Where most are wrong, a network card was to fill
    /// them in.
    fn is_damage(&mut self, checksum: Checksum, times: u64) -> bool {
        match checksum {
            Checksum::Good => self.good += 1,
            Checksum::Bad => self.bad += 1,
            Checksum::Unknown => {}
        }
        checksum == Checksum::Bad && self.bad.saturating_mul(times) <= self.good
    }
}

/// Linux since 3.10 probes for tail losses by default, and offers in its SYN a window of 20 segments or more, whole
/// ones, and timestamps.
fn looks_like_linux(tcp: &Tcp, policy: &TcpPolicy) -> bool {
    let Some(mss) = tcp.mss.map(u32::from) else { return false };
    let window = u32::from(tcp.window);
    let whole =
        |mss: u32| mss > 0 && window % mss == 0 && u64::from(window / mss) >= policy.counts.probing_window;
    tcp.sack_permitted && (whole(mss) || (tcp.timestamps.is_some() && whole(mss.saturating_sub(12))))
}

/// Packets that a super-packet becomes on the wire.
fn wire_packets(len: u32, mss: u32) -> u16 {
    len.div_ceil(mss).clamp(1, 64) as u16
}

fn space_taken(tcp: &Tcp) -> i64 {
    let flag = |flag| i64::from(tcp.flags.has(flag));
    i64::from(tcp.len) + flag(Flags::SYN) + flag(Flags::FIN)
}

/// A probe of an idle connection or a closed window: nothing in it is new, and nobody waits for it.
fn probe(half: &Half, sent: &Sent, terms: &Terms) -> RetransmissionRow {
    let closed = half.acks.window == Some(0);
    let cause = if closed { Cause::WindowProbe } else { Cause::KeepAlive };
    // Elsewhere it may be a packet that was overtaken.
    let facts = Facts::of(&[
        (Exclusion::AtSender, half.clock.is_surely_near()),
        (Exclusion::WindowClosed, closed),
        (Exclusion::NothingOutstanding, half.acks.una == half.edge),
    ]);
    let certainty = certain::tcp(cause, facts);
    let since = |time: Instant| sent.stamp.time.saturating_since(time).as_nanos();
    RetransmissionRow {
        connection: terms.connection,
        side: half.side,
        number: sent.stamp.number,
        time: sent.stamp.time,
        seq: sent.seq,
        end: sent.end,
        len: sent.len,
        transmission: 2,
        first_number: None,
        delay_first: None,
        delay_previous: None,
        cause,
        confidence: certainty.confidence(),
        certain: certainty.proof(),
        need: Need::Needed,
        proof: Proof::None,
        evidence: Evidence { since_ack: half.acks.last.map(since), ..Evidence::default() },
    }
}
