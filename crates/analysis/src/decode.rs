//! Records of a capture to packets: link layer, IP, fragments, TCP and SCTP headers.
//!
//! Nothing is allocated for a packet. What is not handed on is counted by its reason, so that every record is
//! accounted for.

mod quic;
mod skipped;

use std::net::SocketAddr;

use rexmit_capture::{RecordError, RecordRef};
use rexmit_wire::{
    Checksum, IpPacket, PROTOCOL_SCTP, PROTOCOL_TCP, PROTOCOL_UDP, ParseError, Reassembler, TcpOptions, sctp,
};

use crate::filter::Filter;
use crate::limits::{Counts, Limit};
use crate::packet::{Batch, Packet, Tcp, Transport};

pub use skipped::Skipped;

use quic::{Datagram, QuicFlows};

/// Turns records into packets. Call [`push`](Self::push) with every record in the order of the capture.
#[derive(Debug)]
pub struct Decoder {
    filter: Option<Filter>,
    /// Records so far.
    records: u64,
    skipped: Skipped,
    fragments: Reassembler,
    quic: QuicFlows,
    limits: Counts,
}

/// Why a record gives no packet.
enum Reason {
    Link(RecordError),
    Ip(ParseError),
    OtherTransport,
    Udp(Datagram),
    Fragment,
}

impl Decoder {
    /// One that has seen nothing and hands on what passes `filter`.
    pub fn new(filter: Option<Filter>) -> Self {
        Self {
            filter,
            records: 0,
            skipped: Skipped::default(),
            fragments: Reassembler::new(),
            quic: QuicFlows::default(),
            limits: Counts::default(),
        }
    }

    /// Takes the next record, and appends its packet to `batch` if it is one to be judged.
    #[inline]
    pub fn push(&mut self, record: &RecordRef<'_>, batch: &mut Batch) {
        self.records += 1;
        match self.decode(record, batch) {
            Ok(packet) => self.hand_on(packet, record, batch),
            Err(reason) => self.count(&reason),
        }
    }

    /// Records taken so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What was not handed on.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// What limits did to them.
    pub fn limits(&self) -> &Counts {
        &self.limits
    }

    #[inline]
    fn decode(&mut self, record: &RecordRef<'_>, batch: &mut Batch) -> Result<Packet, Reason> {
        let at = record.link.ip_offset(record.data).map_err(Reason::Link)?;
        let original_len = (record.original_len as usize).saturating_sub(at);
        let ip = IpPacket::parse(&record.data[at..], original_len).map_err(Reason::Ip)?;
        if ip.fragment.is_some() {
            return self.fragment(&ip, record, batch);
        }
        transport(&ip, self.records, record, batch)
    }

    /// A datagram that is whole with this fragment is handed on as its packet.
    #[cold]
    fn fragment(
        &mut self,
        ip: &IpPacket<'_>,
        record: &RecordRef<'_>,
        batch: &mut Batch,
    ) -> Result<Packet, Reason> {
        let result = match self.fragments.push(record.time, record.interface, ip) {
            Ok(Some(whole)) => transport(&whole, self.records, record, batch),
            Ok(None) => Err(Reason::Fragment),
            Err(error) => Err(Reason::Ip(error)),
        };
        self.skipped.incomplete_datagrams = self.fragments.incomplete();
        self.limits.set(Limit::Fragments, self.fragments.pushed_out());
        result
    }

    #[inline]
    fn hand_on(&mut self, mut packet: Packet, record: &RecordRef<'_>, batch: &mut Batch) {
        if self.filter.as_ref().is_some_and(|filter| !filter.passes(&packet)) {
            self.skipped.filtered += 1;
            if let Transport::Sctp { bytes, .. } = &packet.transport {
                batch.bytes.truncate(bytes.start as usize);
            }
            return;
        }
        if let Some((comment, cut)) = record.comment_within_limit() {
            self.limits.add(Limit::Comments, cut.into());
            batch.note_bytes += comment.len();
            packet.note = Some(batch.notes.len() as u32);
            batch.notes.push(comment.into());
        }
        batch.packets.push(packet);
    }

    #[cold]
    fn count(&mut self, reason: &Reason) {
        let skipped = &mut self.skipped;
        match reason {
            Reason::Link(RecordError::LinkType(number)) => *skipped.links.entry(*number).or_default() += 1,
            Reason::Link(RecordError::Parse(ParseError::Truncated { .. }))
            | Reason::Ip(ParseError::Truncated { .. }) => skipped.cut += 1,
            Reason::Link(RecordError::Parse(ParseError::TooDeep { .. }))
            | Reason::Ip(ParseError::TooDeep { .. }) => {
                skipped.malformed += 1;
                self.limits.add(Limit::Layers, 1);
            }
            Reason::Link(RecordError::Parse(_)) | Reason::Ip(_) => skipped.malformed += 1,
            Reason::Link(_) => skipped.not_ip += 1,
            Reason::Udp(datagram) if self.quic.take(datagram) => skipped.quic += 1,
            Reason::OtherTransport | Reason::Udp(_) => skipped.other_transport += 1,
            Reason::Fragment => skipped.fragments += 1,
        }
    }
}

/// What is read of a transport protocol.
struct Segment {
    /// Those of its source and destination.
    ports: (u16, u16),
    checksum: Checksum,
    transport: Transport,
}

#[inline]
fn transport(
    ip: &IpPacket<'_>,
    number: u64,
    record: &RecordRef<'_>,
    batch: &mut Batch,
) -> Result<Packet, Reason> {
    let Segment { ports, checksum, transport } = match ip.protocol {
        PROTOCOL_TCP => tcp(ip).map_err(Reason::Ip)?,
        PROTOCOL_SCTP => sctp_packet(ip.body, ip.body_len, ip.header_ok, batch).map_err(Reason::Ip)?,
        PROTOCOL_UDP => encapsulated(ip, batch)?,
        _ => return Err(Reason::OtherTransport),
    };
    Ok(Packet {
        number,
        time: record.time,
        interface: record.interface,
        src: SocketAddr::new(ip.src, ports.0),
        dst: SocketAddr::new(ip.dst, ports.1),
        ttl: ip.fields.ttl,
        tos: ip.fields.tos,
        ident: ip.fields.ident,
        checksum,
        note: None,
        transport,
    })
}

#[inline]
fn tcp(ip: &IpPacket<'_>) -> Result<Segment, ParseError> {
    let view = ip.tcp()?;
    let header = view.header;
    let options = TcpOptions::parse(header.options());
    let tcp = Tcp {
        seq: header.seq(),
        ack: header.ack(),
        flags: header.flags(),
        window: header.window(),
        urgent: header.urgent(),
        len: view.payload_len as u32,
        mss: options.mss,
        window_scale: options.window_scale,
        sack_permitted: options.sack_permitted,
        timestamps: options.timestamps,
        sack: options.sack,
        options_cut: view.options_cut,
    };
    let ports = (header.src_port(), header.dst_port());
    Ok(Segment { ports, checksum: view.checksum, transport: Transport::Tcp(tcp) })
}

/// The common header (RFC 9260 section 3.1) must be there; chunks are read by whoever judges them.
fn sctp_packet(
    body: &[u8],
    wire_len: usize,
    header_ok: bool,
    batch: &mut Batch,
) -> Result<Segment, ParseError> {
    if wire_len < sctp::HEADER_LEN {
        return Err(ParseError::BadLength { field: "SCTP packet", value: wire_len });
    }
    let header = sctp::Header::new(body, wire_len)?;
    let checksum = match header.checksum_ok() {
        _ if !header_ok => Checksum::Bad,
        Some(true) => Checksum::Good,
        Some(false) => Checksum::Bad,
        None => Checksum::Unknown,
    };
    let start = batch.bytes.len() as u32;
    batch.bytes.extend_from_slice(body);
    let transport = Transport::Sctp { bytes: start..batch.bytes.len() as u32, wire_len: wire_len as u32 };
    Ok(Segment { ports: (header.src_port(), header.dst_port()), checksum, transport })
}

/// SCTP in UDP, at the port that is set aside for it (RFC 6951 section 5.1) at either side. The ports are SCTP's.
fn encapsulated(ip: &IpPacket<'_>, batch: &mut Batch) -> Result<Segment, Reason> {
    const PORT: u16 = 9899;
    let Ok(datagram) = ip.udp() else { return Err(Reason::OtherTransport) };
    let (header, len) = (datagram.header, datagram.payload_len);
    if header.src_port() != PORT && header.dst_port() != PORT {
        return Err(Reason::Udp(Datagram::of(ip, &header)));
    }
    // Whatever else uses the port is not damaged SCTP.
    let is_sctp =
        sctp::Header::new(header.payload(), len).is_ok_and(|packet| packet.chunks().next().is_some());
    if !is_sctp {
        return Err(Reason::OtherTransport);
    }
    sctp_packet(header.payload(), len, ip.header_ok, batch).map_err(Reason::Ip)
}

#[cfg(test)]
mod tests;
