//! An association: its two sides, their paths, and which chunk goes where.

use std::net::{IpAddr, SocketAddr};

use rexmit_units::Instant;
use rexmit_wire::Checksum;
use rexmit_wire::sctp::{Body, End, Header, Init, kind};

use super::control::{Controls, Heartbeats};
use super::copies::Copies;
use super::half::{Half, Out, Piece, Seen};
use super::path::Paths;
use super::rows::{
    AssociationRow, CauseCounts, Control, SctpHandshake, SctpMethod, SctpRows, SctpRttRow, SctpSackRow,
    SctpSideRow,
};
use crate::analyzer::Options;
use crate::limits::{CHUNKS, Limit, STEPS_PER_CHUNK, STEPS_PER_PACKET, Steps};
use crate::packet::Packet;
use crate::rows::{SideName, Spread};

/// An association. Side 0 is the client.
#[derive(Debug)]
pub(super) struct Association {
    number: u32,
    interface: u32,
    start: Instant,
    end: Instant,
    packets: u64,
    handshake: SctpHandshake,
    closed: Option<Instant>,
    sides: [Side; 2],
    /// Entries of the tables of tags and paths.
    pub(super) entries: u32,
    options: Options,
}

#[derive(Debug)]
struct Side {
    row: SctpSideRow,
    /// Its DATA, and the other side's SACKs for it.
    half: Half,
    paths: Paths,
    copies: Copies,
    controls: Controls,
    heartbeats: Heartbeats,
    /// Since when its window is closed.
    zero: Option<Instant>,
    /// A right checksum of it was seen.
    right: bool,
    /// It has been answered.
    sack_seen: Option<Instant>,
}

/// What a packet is to be looked at with.
struct Look<'a, 'b> {
    packet: &'a Packet,
    rows: &'a mut SctpRows,
    from: usize,
    path: u32,
    with_cookie: bool,
    bytes: &'b Header<'b>,
    /// DATA of the packet.
    pieces: &'a mut Vec<Piece>,
    /// Chunks of the packet so far.
    chunks: u64,
}

/// What all associations share while one takes a packet.
pub(super) struct Shared<'a> {
    pub(super) rows: &'a mut SctpRows,
    /// Memory that is used again.
    pub(super) pieces: &'a mut Vec<Piece>,
    /// Steps of work that are left for all.
    pub(super) steps: &'a mut Steps,
}

impl Association {
    /// One whose first packet is `packet`, sent by side `from`.
    pub(super) fn new(number: u32, packet: &Packet, from: usize, options: &Options) -> Self {
        let (client, server) = if from == 0 { (packet.src, packet.dst) } else { (packet.dst, packet.src) };
        Self {
            number,
            interface: packet.interface,
            start: packet.time,
            end: packet.time,
            packets: 0,
            handshake: SctpHandshake::default(),
            closed: None,
            sides: [Side::new(client, options), Side::new(server, options)],
            entries: 0,
            options: *options,
        }
    }

    /// The tag of packets to a side.
    pub(super) fn tag(&self, side: usize) -> Option<u32> {
        self.sides[side].row.tag
    }

    /// The port of a side.
    pub(super) fn port(&self, side: usize) -> u16 {
        self.sides[side].row.address.port()
    }

    /// True if an INIT of this side was seen.
    pub(super) fn has_init(&self, side: usize) -> bool {
        self.sides[side].controls.sent(Control::Init)
    }

    /// True if the handshake came through, or DATA.
    pub(super) fn is_open(&self) -> bool {
        self.handshake.cookie_ack || self.sides.iter().any(|side| side.row.chunks > 0 || side.row.sacks > 0)
    }

    /// True after an ABORT or a SHUTDOWN-COMPLETE.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// True if nothing more is expected of it at `now`.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let since = |time: Instant| now.saturating_since(time).as_nanos();
        self.closed.is_some_and(|closed| since(closed) > LINGER)
            || !self.is_open() && since(self.end) > HALF_OPEN
    }

    /// Its number, from 1.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// When its last packet was seen.
    pub(super) fn last(&self) -> Instant {
        self.end
    }

    /// Bytes that it takes, with what it keeps.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + self.sides.iter().map(Side::heap).sum::<usize>() + self.entries as usize * ENTRY
    }

    /// Takes a packet that side `from` sent.
    pub(super) fn packet(
        &mut self,
        packet: &Packet,
        header: &Header<'_>,
        from: usize,
        shared: &mut Shared<'_>,
    ) {
        for side in &mut self.sides {
            side.half.work.begin(STEPS_PER_PACKET, shared.steps.pool);
        }
        self.judge(packet, header, from, shared);
        for side in &mut self.sides {
            side.half.work.end(shared.steps);
        }
    }

    fn judge(&mut self, packet: &Packet, header: &Header<'_>, from: usize, shared: &mut Shared<'_>) {
        self.packets += 1;
        self.end = self.end.max(packet.time);
        let side = &mut self.sides[from];
        match packet.checksum {
            Checksum::Good => side.right = true,
            // At a sender, its network card was to fill it in.
            Checksum::Bad if side.right => {
                side.row.damaged += 1;
                return;
            }
            _ => {}
        }
        let known = side.half.view.last_sack.max(side.sack_seen);
        if side.copies.is_copy(packet, header, known) {
            side.row.copies += 1;
            return;
        }
        side.row.packets += 1;
        side.row.address_seen(packet.src.ip());
        self.sides[1 - from].row.address_seen(packet.dst.ip());
        if header.tag() != 0 && !reflected(header) {
            self.sides[1 - from].row.tag.get_or_insert(header.tag());
        }
        let path = self.sides[from].paths.packet(packet.src.ip(), packet.dst.ip(), packet.time);
        shared.rows.limits.add(Limit::Paths, u64::from(path.is_none()));
        let path = path.unwrap_or(0);
        let Shared { rows, pieces, steps } = shared;
        let mut look =
            Look { packet, rows, from, path, with_cookie: false, bytes: header, pieces, chunks: 0 };
        self.chunks(&mut look);
        self.data(&mut look);
        steps.spent += look.chunks;
    }

    /// Ends it.
    pub(super) fn finish(mut self, rows: &mut SctpRows) {
        let times = [0, 1].map(|side| self.sides[side].half.clock.min());
        for (at, side) in self.sides.iter_mut().enumerate() {
            let mut out = Out {
                rows,
                tables: self.options.tables,
                association: self.number,
                side: name(at),
                row: &mut side.row,
            };
            side.half.finish(&mut out);
            if let Some(zero) = side.zero.take() {
                side.row.zero_window_time += self.end.saturating_since(zero).as_nanos();
            }
            side.paths.finish(self.number, name(at), rows);
        }
        for at in 0..2 {
            let half = &self.sides[1 - at].half;
            let (delay, packets) = (half.sack_delay.spread(), half.packets_per_sack());
            self.sides[at].row.sack_delay = delay;
            self.sides[at].row.packets_per_sack = packets;
        }
        let share = match times {
            // The way to the server and back is what the client's chunks time.
            [Some(to_server), Some(to_client)] if to_server + to_client > 0 => {
                Some(to_client as f64 / (to_server + to_client) as f64)
            }
            _ => None,
        };
        let [client, server] = self.sides;
        rows.associations.push(AssociationRow {
            association: self.number,
            interface: self.interface,
            start: self.start,
            end: self.end,
            packets: self.packets,
            handshake: self.handshake,
            client_share: share,
            client: client.row,
            server: server.row,
        });
    }

    /// Looks at the chunks of a packet; DATA is put by.
    fn chunks(&mut self, look: &mut Look<'_, '_>) {
        look.pieces.clear();
        let mut chunks = look.bytes.chunks();
        let mut cut = false;
        for chunk in chunks.by_ref().take(CHUNKS) {
            look.chunks += 1;
            self.sides.iter_mut().for_each(|side| side.half.work.grant(STEPS_PER_CHUNK));
            match chunk.body() {
                Body::Data(data) => look.pieces.push(Piece::from(&data)),
                Body::Sack(sack) => {
                    cut |= sack.is_cut();
                    self.sack(look, &sack);
                }
                Body::Init(init) => self.init(look, &init, Control::Init),
                Body::InitAck(init) => self.init(look, &init, Control::InitAck),
                Body::Heartbeat(info) => self.heartbeat(look, info),
                Body::HeartbeatAck(info) => self.heartbeat_ack(look, info),
                Body::ForwardTsn(forward) => {
                    let side = &mut self.sides[look.from];
                    side.half.forward(forward.cumulative(), &mut side.row);
                }
                Body::Cut => cut = true,
                body => self.control(look, &body),
            }
        }
        look.rows.limits.add(Limit::Chunks, chunks.by_ref().count() as u64);
        self.sides[look.from].row.cut += u64::from(cut || chunks.end() == Some(End::Cut));
    }

    /// Chunks of the opening and the end that carry no data.
    fn control(&mut self, look: &mut Look<'_, '_>, body: &Body<'_>) {
        let time = look.packet.time;
        let from = look.from;
        match body {
            Body::CookieEcho(_) => {
                self.handshake.cookie_echo = true;
                look.with_cookie = self.sides[from].controls.sent(Control::CookieEcho);
                let rtt = self.answer(from, Control::CookieEcho, Control::InitAck, time);
                self.handshake.client_rtt = self.handshake.client_rtt.or(rtt);
                self.sent(look, Control::CookieEcho);
                self.sample(look, rtt, SctpMethod::Handshake);
            }
            Body::CookieAck => {
                self.handshake.cookie_ack = true;
                let rtt = self.answer(from, Control::CookieAck, Control::CookieEcho, time);
                self.handshake.cookie_rtt = self.handshake.cookie_rtt.or(rtt);
                self.sent(look, Control::CookieAck);
                self.sample(look, rtt, SctpMethod::Handshake);
            }
            Body::Shutdown { cumulative } => {
                self.handshake.shutdown = true;
                // Each DATA that still comes is answered by a SHUTDOWN; that is none sent again.
                self.sides[from].controls.renew(Control::Shutdown, *cumulative);
                self.sent(look, Control::Shutdown);
            }
            Body::ShutdownAck => self.sent(look, Control::ShutdownAck),
            Body::ShutdownComplete { .. } => {
                self.handshake.shutdown_complete = true;
                self.closed.get_or_insert(time);
                self.sent(look, Control::ShutdownComplete);
            }
            Body::Abort { .. } => {
                self.handshake.abort = true;
                self.closed.get_or_insert(time);
            }
            _ => {}
        }
    }

    fn init(&mut self, look: &mut Look<'_, '_>, init: &Init<'_>, control: Control) {
        let (from, time) = (look.from, look.packet.time);
        let side = &mut self.sides[from];
        side.row.tag = Some(init.initiate_tag());
        side.row.outbound_streams = Some(init.outbound_streams());
        side.row.inbound_streams = Some(init.inbound_streams());
        side.row.interleaving = init.supports(kind::I_DATA);
        side.row.partial_reliability = init.supports(kind::FORWARD_TSN)
            || init.parameters().any(|p| matches!(p, rexmit_wire::sctp::Parameter::ForwardTsn));
        init.addresses().for_each(|address| side.row.address_seen(address));
        side.half.begin(init.initial_tsn(), &mut side.row);
        side.window(init.window(), time);
        if control == Control::Init {
            self.handshake.init = true;
        } else {
            self.handshake.init_ack = true;
            let rtt = self.answer(from, Control::InitAck, Control::Init, time);
            self.handshake.init_rtt = self.handshake.init_rtt.or(rtt);
            self.sample(look, rtt, SctpMethod::Handshake);
        }
        self.sent(look, control);
    }

    fn sack(&mut self, look: &mut Look<'_, '_>, sack: &rexmit_wire::sctp::Sack<'_>) {
        let (from, time) = (look.from, look.packet.time);
        let own = &mut self.sides[from];
        own.row.sacks += 1;
        own.row.gap_sacks += u64::from(sack.gap_count() > 0);
        own.row.duplicate_tsns += u64::from(sack.duplicate_count());
        own.window(sack.window(), time);
        let sender = 1 - from;
        self.sides[sender].sack_seen = Some(time);
        let sender_loop = self.sender_loop(sender);
        let side = &mut self.sides[sender];
        let reneged = side.row.reneged;
        let mut out = Out {
            rows: look.rows,
            tables: self.options.tables,
            association: self.number,
            side: name(sender),
            row: &mut side.row,
        };
        let sample = side.half.sack(time, sack, sender_loop, &mut out);
        if self.options.tables.chunks
            && let Some(row) = side.half.sack_row((look.packet.number, time), sack)
        {
            look.rows.lists += (size_of_val(&*row.gaps) + size_of_val(&*row.duplicates)) as u64;
            look.rows.sacks.push(SctpSackRow { association: self.number, side: name(from), ..row });
        }
        // Whoever sends the SACK takes back.
        let taken_back = side.row.reneged - reneged;
        side.row.reneged = reneged;
        if let Some(sample) = sample {
            let dst = side.paths.data_sample(sample.path, sample.rtt);
            if self.options.tables.rtt {
                look.rows.rtt.push(SctpRttRow {
                    association: self.number,
                    side: name(sender),
                    number: look.packet.number,
                    time,
                    rtt: sample.rtt,
                    method: SctpMethod::Sack,
                    dst,
                    tsn: Some(sample.tsn),
                });
            }
        }
        self.sides[from].row.reneged += taken_back;
    }

    fn data(&mut self, look: &mut Look<'_, '_>) {
        if look.pieces.is_empty() {
            return;
        }
        let (from, packet) = (look.from, look.packet);
        let sender_loop = self.sender_loop(from);
        self.sides[1 - from].controls.other_sent_data();
        let side = &mut self.sides[from];
        let seen = Seen {
            number: packet.number,
            time: packet.time,
            src: packet.src.ip(),
            dst: packet.dst.ip(),
            ident: packet.ident,
            path: look.path,
            with_cookie: look.with_cookie,
            paths: side.paths.with_data() > 1,
        };
        let bytes = side.row.bytes;
        let mut out = Out {
            rows: look.rows,
            tables: self.options.tables,
            association: self.number,
            side: name(from),
            row: &mut side.row,
        };
        let result = side.half.packet(&seen, look.pieces, sender_loop, &mut out);
        side.paths.data(look.path, look.pieces.len() as u64, side.row.bytes - bytes, &result);
    }

    fn heartbeat(&mut self, look: &mut Look<'_, '_>, info: &[u8]) {
        let side = &mut self.sides[look.from];
        side.row.heartbeats += 1;
        side.paths.heartbeat(look.path);
        let again = side.heartbeats.sent(look.path, info, look.packet.time);
        self.control_row(look, Control::Heartbeat, again);
    }

    fn heartbeat_ack(&mut self, look: &mut Look<'_, '_>, info: &[u8]) {
        self.sides[look.from].row.heartbeat_acks += 1;
        let side = &mut self.sides[1 - look.from];
        let Some((path, rtt)) = side.heartbeats.answered(info, look.packet.time) else { return };
        side.half.clock.heartbeat(rtt);
        let dst = side.paths.heartbeat_sample(path, rtt);
        self.rtt_row(look, rtt, SctpMethod::Heartbeat, dst);
    }

    /// The time from the other side's `question` to this answer, neither sent twice.
    fn answer(&self, from: usize, answer: Control, question: Control, time: Instant) -> Option<u64> {
        if self.sides[from].controls.sent(answer) {
            return None;
        }
        let asked = self.sides[1 - from].controls.sent_once(question)?;
        Some(time.saturating_since(asked).as_nanos())
    }

    /// A handshake's sample, of the way to the side that sent the packet.
    fn sample(&mut self, look: &mut Look<'_, '_>, rtt: Option<u64>, method: SctpMethod) {
        let Some(rtt) = rtt else { return };
        self.sides[1 - look.from].half.clock.handshake(rtt);
        self.rtt_row(look, rtt, method, look.packet.src.ip());
    }

    fn rtt_row(&self, look: &mut Look<'_, '_>, rtt: u64, method: SctpMethod, dst: IpAddr) {
        if self.options.tables.rtt {
            look.rows.rtt.push(SctpRttRow {
                association: self.number,
                side: name(1 - look.from),
                number: look.packet.number,
                time: look.packet.time,
                rtt,
                method,
                dst,
                tsn: None,
            });
        }
    }

    fn sent(&mut self, look: &mut Look<'_, '_>, control: Control) {
        let again = self.sides[look.from].controls.send(control, look.packet.time);
        self.control_row(look, control, again);
    }

    fn control_row(
        &mut self,
        look: &mut Look<'_, '_>,
        control: Control,
        again: Option<super::control::Again>,
    ) {
        let Some(again) = again else { return };
        self.sides[look.from].row.control_retransmissions += 1;
        look.rows.controls.push(again.row(self.number, name(look.from), control, look.packet));
    }

    /// The way from here to a side and back, if it is known; 0 if the capture is at that side.
    fn sender_loop(&self, side: usize) -> Option<u64> {
        // What the other side sends to it, and it answers, times this way.
        let near = self.sides[1 - side].half.clock.min()?;
        let far = self.sides[side].half.clock.min().unwrap_or(0);
        // The packet that an answer brings may be shorter than those that were timed, and so be sooner.
        Some(if near < AT_SIDE || near < (near + far) / 20 { 0 } else { near / 10 * 9 })
    }
}

impl Side {
    fn new(address: SocketAddr, options: &Options) -> Self {
        Self {
            row: empty_row(address),
            half: Half::new(options.missing_reports),
            paths: Paths::default(),
            copies: Copies::default(),
            controls: Controls::default(),
            heartbeats: Heartbeats::default(),
            zero: None,
            right: false,
            sack_seen: None,
        }
    }

    /// Bytes that it takes beside itself.
    fn heap(&self) -> usize {
        let addresses = self.row.addresses.capacity() * size_of::<IpAddr>();
        self.half.heap()
            + self.paths.heap()
            + self.copies.heap()
            + self.controls.heap()
            + self.heartbeats.heap()
            + addresses
    }

    /// It advertised a window.
    fn window(&mut self, window: u32, time: Instant) {
        let row = &mut self.row;
        row.min_window = Some(row.min_window.map_or(window, |min| min.min(window)));
        row.max_window = Some(row.max_window.map_or(window, |max| max.max(window)));
        match (window, self.zero) {
            (0, None) => {
                row.zero_windows += 1;
                self.zero = Some(time);
            }
            (1.., Some(zero)) => {
                row.zero_window_time += time.saturating_since(zero).as_nanos();
                self.zero = None;
            }
            _ => {}
        }
    }
}

impl SctpSideRow {
    fn address_seen(&mut self, address: IpAddr) {
        if self.addresses.len() < MOST_ADDRESSES && !self.addresses.contains(&address) {
            self.addresses.push(address);
        }
    }
}

/// True where the verification tag is the sender's own (the T bit).
pub(super) fn reflected(header: &Header<'_>) -> bool {
    header.chunks().any(|chunk| {
        matches!(
            chunk.body(),
            Body::Abort { reflected: true, .. } | Body::ShutdownComplete { reflected: true }
        )
    })
}

fn name(side: usize) -> SideName {
    if side == 0 { SideName::Client } else { SideName::Server }
}

fn empty_row(address: SocketAddr) -> SctpSideRow {
    SctpSideRow {
        address,
        addresses: vec![address.ip()],
        tag: None,
        initial_tsn: None,
        initial_tsn_known: false,
        outbound_streams: None,
        inbound_streams: None,
        interleaving: false,
        partial_reliability: false,
        packets: 0,
        data_packets: 0,
        chunks: 0,
        unique_chunks: 0,
        messages: 0,
        bytes: 0,
        unique_bytes: 0,
        retransmitted_chunks: 0,
        retransmitted_bytes: 0,
        reordered_chunks: 0,
        copies: 0,
        damaged: 0,
        cut: 0,
        unseen_chunks: 0,
        abandoned_chunks: 0,
        first_data: None,
        last_data: None,
        last_acked: None,
        acked_bytes: 0,
        goodput: None,
        throughput: None,
        max_outstanding: 0,
        causes: CauseCounts::default(),
        not_needed: 0,
        control_retransmissions: 0,
        heartbeats: 0,
        heartbeat_acks: 0,
        sacks: 0,
        gap_sacks: 0,
        duplicate_tsns: 0,
        reneged: 0,
        min_window: None,
        max_window: None,
        zero_windows: 0,
        zero_window_time: 0,
        sack_delay: Spread::default(),
        packets_per_sack: None,
        rtt: Spread::default(),
        rtt_heartbeat: Spread::default(),
    }
}

/// A capture this near to a side counts as made there, nanoseconds: a host takes that long to answer.
const AT_SIDE: u64 = 2_000_000;
/// What still comes after the end belongs to it for so long, nanoseconds.
const LINGER: u64 = 5_000_000_000;
/// An opening that nobody answers is given up after so long, nanoseconds: more than all INITs of RFC 9260 take.
const HALF_OPEN: u64 = 600_000_000_000;
/// About what an entry of a table of tags or paths takes, bytes.
const ENTRY: usize = 160;
/// More addresses than this are not listed.
const MOST_ADDRESSES: usize = 64;
