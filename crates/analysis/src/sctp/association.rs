//! An association: its two sides, their paths, and which chunk goes where.

mod side;

use std::net::IpAddr;

use rexmit_units::{Duration, Instant};
use rexmit_wire::Checksum;
use rexmit_wire::sctp::{Body, End, Header, Init, kind};

use super::data::{DataChunk, DataPacket, Out};
use super::rows::{AssociationRow, Control, SctpHandshake, SctpMethod, SctpRows, SctpRttRow, SctpSackRow};
use crate::core::side::{SideName, Sides};
use crate::limits::{CHUNKS, Limit, STEPS_PER_CHUNK, STEPS_PER_PACKET, Steps};
use crate::options::Options;
use crate::packet::Packet;
use side::Side;

/// An association.
#[derive(Debug)]
pub(super) struct Association {
    number: u32,
    interface: u32,
    start: Instant,
    end: Instant,
    packets: u64,
    handshake: SctpHandshake,
    closed: Option<Instant>,
    sides: Sides<Side>,
    /// Entries of the tables of tags and paths.
    pub(super) entries: u32,
    options: Options,
}

/// What a packet is to be looked at with.
struct Look<'a, 'b> {
    packet: &'a Packet,
    rows: &'a mut SctpRows,
    from: SideName,
    path: u32,
    with_cookie: bool,
    bytes: &'b Header<'b>,
    /// DATA of the packet.
    pieces: &'a mut Vec<DataChunk>,
    /// Chunks of the packet so far.
    chunks: u64,
}

/// What all associations share while one takes a packet.
pub(super) struct Shared<'a> {
    pub(super) rows: &'a mut SctpRows,
    /// Memory that is used again.
    pub(super) pieces: &'a mut Vec<DataChunk>,
    /// Steps of work that are left for all.
    pub(super) steps: &'a mut Steps,
}

impl Association {
    /// One whose first packet is `packet`, sent by side `from`.
    pub(super) fn new(number: u32, packet: &Packet, from: SideName, options: &Options) -> Self {
        let (client, server) = match from {
            SideName::Client => (packet.src, packet.dst),
            SideName::Server => (packet.dst, packet.src),
        };
        Self {
            number,
            interface: packet.interface,
            start: packet.time,
            end: packet.time,
            packets: 0,
            handshake: SctpHandshake::default(),
            closed: None,
            sides: Sides { client, server }.map(|address| Side::new(address, options)),
            entries: 0,
            options: *options,
        }
    }

    /// The tag of packets to a side.
    pub(super) fn tag(&self, side: SideName) -> Option<u32> {
        self.sides[side].row.tag
    }

    /// The port of a side.
    pub(super) fn port(&self, side: SideName) -> u16 {
        self.sides[side].row.address.port()
    }

    /// True if an INIT of this side was seen.
    pub(super) fn has_init(&self, side: SideName) -> bool {
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
        let since = |time: Instant| now.saturating_since(time);
        let ends = &self.options.policy.sctp.ends;
        self.closed.is_some_and(|closed| since(closed) > ends.linger)
            || !self.is_open() && since(self.end) > ends.half_open
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
        from: SideName,
        shared: &mut Shared<'_>,
    ) {
        for side in self.sides.iter_mut() {
            side.half.work.begin(STEPS_PER_PACKET, shared.steps.pool);
        }
        self.judge(packet, header, from, shared);
        for side in self.sides.iter_mut() {
            side.half.work.end(shared.steps);
        }
    }

    fn judge(&mut self, packet: &Packet, header: &Header<'_>, from: SideName, shared: &mut Shared<'_>) {
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
        if side.copies.is_copy(packet, header, known, &self.options.policy.sctp.copies) {
            side.row.copies += 1;
            return;
        }
        side.row.packets += 1;
        side.row.address_seen(packet.src.ip());
        self.sides[from.other()].row.address_seen(packet.dst.ip());
        if header.tag() != 0 && !reflected(header) {
            self.sides[from.other()].row.tag.get_or_insert(header.tag());
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
        let times = SideName::BOTH.map(|side| self.sides[side].half.clock.min());
        for at in SideName::BOTH {
            let side = &mut self.sides[at];
            let mut out = Out {
                rows,
                tables: self.options.tables,
                association: self.number,
                side: at,
                row: &mut side.row,
            };
            side.half.finish(&mut out);
            if let Some(zero) = side.zero.take() {
                side.row.zero_window_time += self.end.saturating_since(zero).as_nanos();
            }
            side.paths.finish(self.number, at, rows);
        }
        for at in SideName::BOTH {
            let half = &self.sides[at.other()].half;
            let (delay, packets) = (half.sack_delay.spread(), half.packets_per_sack());
            self.sides[at].row.sack_delay = delay;
            self.sides[at].row.packets_per_sack = packets;
        }
        let share = match times {
            // The way to the server and back is what the client's chunks time.
            [Some(to_server), Some(to_client)] if !(to_server + to_client).is_zero() => {
                Some(to_client.as_nanos() as f64 / (to_server + to_client).as_nanos() as f64)
            }
            _ => None,
        };
        let Sides { client, server } = self.sides;
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
                Body::Data(data) => look.pieces.push(DataChunk::from(&data)),
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
                self.handshake.client_rtt = self.handshake.client_rtt.or(rtt.map(Duration::as_nanos));
                self.sent(look, Control::CookieEcho);
                self.sample(look, rtt, SctpMethod::Handshake);
            }
            Body::CookieAck => {
                self.handshake.cookie_ack = true;
                let rtt = self.answer(from, Control::CookieAck, Control::CookieEcho, time);
                self.handshake.cookie_rtt = self.handshake.cookie_rtt.or(rtt.map(Duration::as_nanos));
                self.sent(look, Control::CookieAck);
                self.sample(look, rtt, SctpMethod::Handshake);
            }
            Body::Shutdown { cumulative } => {
                self.handshake.shutdown = true;
                // Each DATA that still comes is answered by a SHUTDOWN; that one is not a retransmission.
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
            self.handshake.init_rtt = self.handshake.init_rtt.or(rtt.map(Duration::as_nanos));
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
        let sender = from.other();
        self.sides[sender].sack_seen = Some(time);
        let sender_loop = self.sender_loop(sender);
        let side = &mut self.sides[sender];
        let reneged = side.row.reneged;
        let mut out = Out {
            rows: look.rows,
            tables: self.options.tables,
            association: self.number,
            side: sender,
            row: &mut side.row,
        };
        let sample = side.half.sack(time, sack, sender_loop, &mut out);
        if self.options.tables.chunks
            && let Some(row) = side.half.sack_row(look.packet.number, time, sack)
        {
            look.rows.lists += (size_of_val(&*row.gaps) + size_of_val(&*row.duplicates)) as u64;
            look.rows.sacks.push(SctpSackRow { association: self.number, side: from, ..row });
        }
        // Whoever sends the SACK takes back.
        let taken_back = side.row.reneged - reneged;
        side.row.reneged = reneged;
        if let Some(sample) = sample {
            let dst = side.paths.data_sample(sample.path, sample.rtt);
            if self.options.tables.rtt {
                look.rows.rtt.push(SctpRttRow {
                    association: self.number,
                    side: sender,
                    number: look.packet.number,
                    time,
                    rtt: sample.rtt.as_nanos(),
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
        self.sides[from.other()].controls.other_sent_data();
        let side = &mut self.sides[from];
        let seen = DataPacket {
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
            side: from,
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
        let side = &mut self.sides[look.from.other()];
        let Some((path, rtt)) = side.heartbeats.answered(info, look.packet.time) else { return };
        side.half.clock.heartbeat(rtt);
        let dst = side.paths.heartbeat_sample(path, rtt);
        self.rtt_row(look, rtt, SctpMethod::Heartbeat, dst);
    }

    /// The time from the other side's `question` to this answer, neither sent twice.
    fn answer(&self, from: SideName, answer: Control, question: Control, time: Instant) -> Option<Duration> {
        if self.sides[from].controls.sent(answer) {
            return None;
        }
        let asked = self.sides[from.other()].controls.sent_once(question)?;
        Some(time.saturating_since(asked))
    }

    /// A handshake's sample, of the way to the side that sent the packet.
    fn sample(&mut self, look: &mut Look<'_, '_>, rtt: Option<Duration>, method: SctpMethod) {
        let Some(rtt) = rtt else { return };
        self.sides[look.from.other()].half.clock.handshake(rtt);
        self.rtt_row(look, rtt, method, look.packet.src.ip());
    }

    fn rtt_row(&self, look: &mut Look<'_, '_>, rtt: Duration, method: SctpMethod, dst: IpAddr) {
        if self.options.tables.rtt {
            look.rows.rtt.push(SctpRttRow {
                association: self.number,
                side: look.from.other(),
                number: look.packet.number,
                time: look.packet.time,
                rtt: rtt.as_nanos(),
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
        look.rows.controls.push(again.row(self.number, look.from, control, look.packet));
    }

    /// The way from here to a side and back, if it is known; zero if the capture is at that side.
    fn sender_loop(&self, side: SideName) -> Option<Duration> {
        // What the other side sends to it, and it answers, times this way.
        let near = self.sides[side.other()].half.clock.min()?;
        let far = self.sides[side].half.clock.min().unwrap_or_default();
        let place = &self.options.policy.sctp.place;
        let here = near < place.at_side || near < place.at_side_share.of(near + far);
        // The packet that an answer brings may be shorter than those that were timed, and so be sooner.
        Some(if here { Duration::ZERO } else { place.loop_share.of(near) })
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

/// About what an entry of a table of tags or paths takes, bytes.
const ENTRY: usize = 160;
