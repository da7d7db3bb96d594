//! Records of a capture to packets: link layer, IP, fragments, TCP and SCTP headers.
//!
//! Nothing is allocated for a packet. What is not handed on is counted by its reason, so that every record is
//! accounted for.

mod skipped;

use std::net::SocketAddr;

use rexmit_capture::{RecordError, RecordRef};
use rexmit_wire::{Checksum, IpPacket, PROTOCOL_SCTP, PROTOCOL_TCP, ParseError, TcpOptions};

use crate::filter::Filter;
use crate::packet::{Batch, Packet, Tcp, Transport};

pub use skipped::Skipped;

/// Turns records into packets. Call [`push`](Self::push) with every record in the order of the capture, then
/// [`finish`](Self::finish).
#[derive(Debug)]
pub struct Decoder {
    filter: Option<Filter>,
    /// Records so far.
    records: u64,
    skipped: Skipped,
}

/// Why a record gives no packet.
enum Reason {
    Link(RecordError),
    Ip(ParseError),
    OtherTransport,
    Fragment,
}

impl Decoder {
    /// One that has seen nothing and hands on what passes `filter`.
    pub fn new(filter: Option<Filter>) -> Self {
        Self { filter, records: 0, skipped: Skipped::default() }
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

    #[inline]
    fn decode(&mut self, record: &RecordRef<'_>, batch: &mut Batch) -> Result<Packet, Reason> {
        let at = record.link.ip_offset(record.data).map_err(Reason::Link)?;
        let original_len = (record.original_len as usize).saturating_sub(at);
        let ip = IpPacket::parse(&record.data[at..], original_len).map_err(Reason::Ip)?;
        if ip.fragment.is_some() {
            return Err(Reason::Fragment);
        }
        self.transport(&ip, record, batch)
    }

    #[inline]
    fn transport(
        &self,
        ip: &IpPacket<'_>,
        record: &RecordRef<'_>,
        batch: &mut Batch,
    ) -> Result<Packet, Reason> {
        let (ports, checksum, transport) = match ip.protocol {
            PROTOCOL_TCP => tcp(ip).map_err(Reason::Ip)?,
            PROTOCOL_SCTP => sctp(ip, batch).map_err(Reason::Ip)?,
            _ => return Err(Reason::OtherTransport),
        };
        Ok(Packet {
            number: self.records,
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
    fn hand_on(&mut self, mut packet: Packet, record: &RecordRef<'_>, batch: &mut Batch) {
        if self.filter.as_ref().is_some_and(|filter| !filter.passes(&packet)) {
            self.skipped.filtered += 1;
            if let Transport::Sctp { bytes, .. } = &packet.transport {
                batch.bytes.truncate(bytes.start as usize);
            }
            return;
        }
        if let Some(comment) = record.comment() {
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
            Reason::Link(RecordError::Parse(_)) | Reason::Ip(_) => skipped.malformed += 1,
            Reason::Link(_) => skipped.not_ip += 1,
            Reason::OtherTransport => skipped.other_transport += 1,
            Reason::Fragment => skipped.fragments += 1,
        }
    }
}

type Ports = (u16, u16);

#[inline]
fn tcp(ip: &IpPacket<'_>) -> Result<(Ports, Checksum, Transport), ParseError> {
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
    Ok(((header.src_port(), header.dst_port()), view.checksum, Transport::Tcp(tcp)))
}

/// The common header (RFC 9260 section 3.1) must be there; chunks are read by who judges them.
fn sctp(ip: &IpPacket<'_>, batch: &mut Batch) -> Result<(Ports, Checksum, Transport), ParseError> {
    const COMMON_HEADER: usize = 12;
    if ip.body_len < COMMON_HEADER {
        return Err(ParseError::BadLength { field: "SCTP packet", value: ip.body_len });
    }
    if ip.body.len() < COMMON_HEADER {
        return Err(ParseError::Truncated { have: ip.body.len(), need: COMMON_HEADER });
    }
    let port = |at: usize| u16::from_be_bytes([ip.body[at], ip.body[at + 1]]);
    let start = batch.bytes.len() as u32;
    batch.bytes.extend_from_slice(ip.body);
    let bytes = start..batch.bytes.len() as u32;
    let transport = Transport::Sctp { bytes, wire_len: ip.body_len as u32 };
    Ok(((port(0), port(2)), Checksum::Unknown, transport))
}
