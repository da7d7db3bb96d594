//! Bytes as what happens to an association: packets of any kind, in any state, right or wrong; calls of the application;
//! time. No input panics, what leaves is a legal packet that fits the path, and counts stay within each other.

use std::sync::{Arc, LazyLock};

use rexmit_sctp::{Association, AssociationConfig, Profile, Role};
use rexmit_stack::{Delivery, Endpoint, Socket};
use rexmit_units::{Duration, Instant};
use rexmit_wire::sctp::{self, Chunk, DataChunk, Extension, Gap, InitChunk, SackChunk, kind};
use rexmit_wire::{IpFields, Packet, Payload, Transport};

const TAG: u32 = 0x0a0b_0c0d;
const TSN: u32 = u32::MAX - 3;
const PEER_TSN: u32 = u32::MAX - 2;

static PROFILE: LazyLock<Arc<Profile>> = LazyLock::new(|| {
    let text = include_str!("../../profiles/rfc9260.toml");
    let mut table: toml::Table = toml::from_str(text).expect("TOML");
    table.remove("sources");
    table.remove("protocol");
    let mut profile: Profile = table.try_into().expect("a profile");
    profile.buffers.receive.0 = 6_000;
    profile.buffers.send.0 = 6_000;
    profile.association.shutdown_guard = Some(Duration::from_secs(20));
    Arc::new(profile)
});

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let mut profile = Arc::clone(&PROFILE);
    Arc::make_mut(&mut profile).association.interleaving = first & 2 == 2;
    let (local, remote) = (([10, 0, 0, 1], 1), ([10, 0, 0, 2], 2));
    let assoc = Association::new(AssociationConfig {
        profile,
        local: local.into(),
        remote: remote.into(),
        more_local: if first & 4 == 4 { vec![[10, 1, 0, 1].into()] } else { Vec::new() },
        more_remote: Vec::new(),
        mtu: if first & 8 == 8 { 1500 } else { 300 },
        phase: Duration::ZERO,
        role: if first & 1 == 1 { Role::Active } else { Role::Passive },
        tag: TAG,
        initial_tsn: TSN,
        secret: 1,
    });
    let mut host = Host { assoc, now: Instant::ZERO, cookie: [0; 8].into(), tag: TAG, info: [0; 4].into() };
    let mut bytes = Bytes(rest);
    // Half of the inputs begin with a handshake, so that they reach the states behind it.
    if first & 16 == 16 {
        host.shake_hands();
    }
    while !bytes.0.is_empty() {
        host.step(&mut bytes);
        host.look();
    }
}

/// Bytes as small numbers; zeros once they are used up.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (*first, rest));
        self.0 = rest;
        first
    }

    fn word(&mut self) -> u32 {
        u32::from_be_bytes([0; 4].map(|_: u8| self.byte()))
    }

    /// A number near `base`, now and then any.
    fn near(&mut self, base: u32) -> u32 {
        match self.byte() {
            255 => self.word(),
            254 => base.wrapping_sub(u32::from(self.byte())),
            byte => base.wrapping_add(u32::from(byte % 8)),
        }
    }

    fn some(&mut self) -> Box<[u8]> {
        (0..self.byte() % 32).map(|_| self.byte()).collect()
    }
}

struct Host {
    assoc: Association,
    now: Instant,
    /// The last cookie and heartbeat that it sent, and the tag that it asked for.
    cookie: Box<[u8]>,
    tag: u32,
    info: Box<[u8]>,
}

impl Host {
    fn shake_hands(&mut self) {
        self.assoc.connect(self.now);
        self.look();
        let init = |cookie| InitChunk {
            initiate_tag: 7,
            window: 5_000,
            outbound_streams: 4,
            inbound_streams: 4,
            initial_tsn: PEER_TSN,
            addresses: vec![[10, 1, 0, 2].into()],
            cookie,
            extensions: vec![
                Extension::ForwardTsn,
                Extension::Chunks([kind::I_DATA, kind::FORWARD_TSN].into()),
            ],
        };
        self.receive(0, vec![Chunk::Init(Box::new(init(None)))]);
        self.receive(self.tag, vec![Chunk::InitAck(Box::new(init(Some([1; 4].into()))))]);
        let chunks = vec![Chunk::CookieEcho(self.cookie.clone())];
        self.receive(self.tag, chunks);
        self.receive(self.tag, vec![Chunk::CookieAck]);
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.byte() % 16 {
            0 => self.assoc.connect(self.now),
            1 | 13 | 14 => {
                let how = Delivery {
                    stream: u16::from(bytes.byte() % 5),
                    unordered: bytes.byte() & 1 == 1,
                    lifetime: (bytes.byte() & 1 == 1).then(|| Duration::from_millis(bytes.byte().into())),
                    max_retransmits: (bytes.byte() & 1 == 1).then(|| u32::from(bytes.byte() % 3)),
                    datagram: false,
                };
                self.assoc.send(self.now, u64::from(bytes.byte()) * 20, how);
            }
            2 => {
                let len = self.assoc.read(self.now, u64::from(bytes.byte()) * 10 + 1);
                assert!(len <= u64::from(u8::MAX) * 10 + 1);
            }
            3 if bytes.byte() > 200 => self.assoc.close(self.now),
            4 if bytes.byte() > 240 => self.assoc.abort(self.now),
            5 | 6 => {
                if let Some(due) = self.assoc.poll_timer() {
                    self.now = self.now.max(due);
                    self.assoc.handle_timer(self.now);
                    assert!(self.assoc.poll_timer().is_none_or(|next| next > due), "a timer goes round");
                }
            }
            7 => self.now += Duration::from_millis(bytes.byte().into()),
            8 => {
                let raw = [&[0, 2, 0, 1][..], &self.tag.to_be_bytes(), &[0; 4], &bytes.some()].concat();
                let payload = Payload::Bytes(raw.into());
                self.handle(Transport::Other { protocol: rexmit_wire::PROTOCOL_SCTP, payload });
            }
            _ => {
                let chunks: Vec<Chunk> = (0..bytes.byte() % 3 + 1).map(|_| self.chunk(bytes)).collect();
                let tag = match bytes.byte() {
                    255 => bytes.word(),
                    254 => 7,
                    _ if matches!(chunks[0], Chunk::Init(_)) => 0,
                    _ => self.tag,
                };
                self.receive(tag, chunks);
            }
        }
    }

    fn receive(&mut self, tag: u32, chunks: Vec<Chunk>) {
        self.handle(Transport::Sctp(sctp::Packet { src_port: 2, dst_port: 1, tag, chunks }));
        self.look();
    }

    fn handle(&mut self, transport: Transport) {
        let (src, dst) = ([10, 0, 0, 2].into(), [10, 0, 0, 1].into());
        let packet = Packet { src, dst, ip: IpFields::default(), transport, damaged: false };
        self.assoc.handle_packet(self.now, Box::new(packet));
    }

    fn chunk(&self, bytes: &mut Bytes<'_>) -> Chunk {
        let reflected = bytes.byte() & 1 == 1;
        match bytes.byte() % 20 {
            0..=3 => Chunk::Data(data(bytes)),
            4..=7 => Chunk::Sack(sack(bytes)),
            8 => Chunk::Init(Box::new(self.init(bytes))),
            9 => Chunk::InitAck(Box::new(self.init(bytes))),
            10 => Chunk::CookieEcho(if reflected { bytes.some() } else { self.cookie.clone() }),
            11 => Chunk::CookieAck,
            12 => Chunk::Heartbeat(bytes.some()),
            13 => Chunk::HeartbeatAck(if reflected { bytes.some() } else { self.info.clone() }),
            14 if bytes.byte() > 250 => Chunk::Abort { reflected, causes: vec![bytes.byte().into()] },
            15 if bytes.byte() > 200 => Chunk::Shutdown { cumulative: bytes.near(TSN - 1) },
            16 if bytes.byte() > 200 => match bytes.byte() % 3 {
                0 => Chunk::ShutdownAck,
                1 => Chunk::ShutdownComplete { reflected },
                _ => Chunk::Error { causes: vec![u16::from(bytes.byte() % 8)] },
            },
            17 => Chunk::ForwardTsn {
                cumulative: bytes.near(PEER_TSN - 1),
                skipped: vec![(u16::from(bytes.byte() % 6), u16::from(bytes.byte() % 6))],
            },
            18 => {
                let mut value = bytes.near(PEER_TSN - 1).to_be_bytes().to_vec();
                value.extend(&bytes.some());
                Chunk::Other { kind: kind::I_FORWARD_TSN, flags: 0, value: value.into() }
            }
            _ => Chunk::Other { kind: bytes.byte(), flags: bytes.byte(), value: bytes.some() },
        }
    }

    fn init(&self, bytes: &mut Bytes<'_>) -> InitChunk {
        InitChunk {
            initiate_tag: u32::from(bytes.byte() % 16),
            window: 1_400 + u32::from(bytes.byte()) * 10,
            outbound_streams: u16::from(bytes.byte() % 6),
            inbound_streams: u16::from(bytes.byte() % 6),
            initial_tsn: bytes.near(PEER_TSN),
            addresses: (0..bytes.byte() % 3).map(|n| [10, n, 0, 2].into()).collect(),
            cookie: Some(bytes.some()),
            extensions: vec![Extension::ForwardTsn, Extension::Chunks(bytes.some())],
        }
    }

    /// What leaves, and what must hold.
    fn look(&mut self) {
        while let Some(sent) = self.assoc.poll_transmit(self.now) {
            let Transport::Sctp(packet) = &sent.packet.transport else { panic!("no SCTP") };
            assert!(sent.packet.ip_len() <= 1500, "{packet:?}");
            sctp::Packet::parse(&packet.emit()).expect("a legal packet");
            for chunk in &packet.chunks {
                match chunk {
                    Chunk::InitAck(answer) => {
                        self.tag = answer.initiate_tag;
                        self.cookie = answer.cookie.clone().expect("a cookie");
                    }
                    Chunk::Heartbeat(info) => self.info = info.clone(),
                    _ => {}
                }
            }
        }
        while self.assoc.poll_event().is_some() {}
        let s = self.assoc.snapshot();
        let (in_flight, recv_queue) = (s.in_flight.expect("known"), s.recv_queue.expect("known"));
        assert!(in_flight <= s.send_queue && recv_queue <= 6_000 + 2 * 65_536 * 100, "{s:?}");
        assert!(in_flight == 0 || s.rexmt_due.is_some() || s.state == "CLOSED" || s.cwnd > 0, "{s:?}");
    }
}

fn data(bytes: &mut Bytes<'_>) -> DataChunk {
    let bits = bytes.byte();
    DataChunk {
        tsn: bytes.near(PEER_TSN),
        stream: u16::from(bytes.byte() % 6),
        message: u32::from(bytes.byte() % 8),
        fragment: (bits & 1 == 1).then(|| u32::from(bytes.byte() % 4)),
        protocol: 0,
        begin: bits & 2 == 2,
        end: bits & 4 == 4,
        unordered: bits & 8 == 8,
        immediate: bits & 16 == 16,
        payload: Payload::Stream { offset: bytes.byte().into(), len: u32::from(bytes.byte().max(1)) * 4 },
    }
}

fn sack(bytes: &mut Bytes<'_>) -> SackChunk {
    let gap = |bytes: &mut Bytes<'_>| Gap {
        start: u16::from(bytes.byte() % 16),
        end: if bytes.byte() == 255 { 60_000 } else { u16::from(bytes.byte() % 16) },
    };
    SackChunk {
        cumulative: bytes.near(TSN - 1),
        window: u32::from(bytes.byte()) * 100,
        gaps: (0..bytes.byte() % 4).map(|_| gap(bytes)).collect(),
        duplicates: vec![bytes.near(TSN); usize::from(bytes.byte() % 2)],
    }
}
