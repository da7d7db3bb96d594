//! A real packet on its way through the emulator.

use std::borrow::Cow;
use std::net::IpAddr;

use rexmit_path::Carried;
use rexmit_wire::{IpFields, Packet, Payload, Transport};

/// An IP packet as a host sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealPacket {
    /// From the IP header on.
    pub bytes: Vec<u8>,
}

impl RealPacket {
    fn is_v4(&self) -> bool {
        self.bytes.first().is_some_and(|b| b >> 4 == 4)
    }
}

impl Carried for RealPacket {
    fn ip_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn packet(&self) -> Cow<'_, Packet> {
        Cow::Owned(Packet::parse(&self.bytes).unwrap_or_else(|_| unknown(&self.bytes)))
    }

    /// Inverts the last byte: part of the data, or of the header where there are none. Either way the
    /// transport's checksum covers it.
    fn damage(&mut self) {
        if let Some(last) = self.bytes.last_mut() {
            *last = !*last;
        }
    }

    fn mark(&mut self) -> bool {
        if self.bytes.len() < 20 {
            return false;
        }
        if !self.is_v4() {
            // The traffic class lies across the first two bytes; ECN is its last two bits (RFC 8200 section 3).
            let capable = self.bytes[1] & 0x30 != 0;
            if capable {
                self.bytes[1] |= 0x30;
            }
            return capable;
        }
        let before = u16::from_be_bytes([self.bytes[0], self.bytes[1]]);
        let capable = self.bytes[1] & 0b11 != 0;
        if capable {
            self.bytes[1] |= 0b11;
            let after = u16::from_be_bytes([self.bytes[0], self.bytes[1]]);
            let sum = u16::from_be_bytes([self.bytes[10], self.bytes[11]]);
            let sum = updated_checksum(sum, before, after);
            self.bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        capable
    }
}

/// The checksum after one of the words that it covers has changed (RFC 1624 section 3).
fn updated_checksum(sum: u16, before: u16, after: u16) -> u16 {
    let mut total = u32::from(!sum) + u32::from(!before) + u32::from(after);
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

/// What cannot be read, by its length alone.
fn unknown(bytes: &[u8]) -> Packet {
    let nowhere = IpAddr::from([0, 0, 0, 0]);
    let len = (bytes.len() as u32).saturating_sub(20);
    let transport = Transport::Other { protocol: 255, payload: Payload::Stream { offset: 0, len } };
    Packet { src: nowhere, dst: nowhere, ip: IpFields::default(), transport, damaged: false }
}

/// An address as an IP header has it.
pub(crate) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(a) => a.octets().to_vec(),
        IpAddr::V6(a) => a.octets().to_vec(),
    }
}

/// True for an IP packet whose destination is `address`.
pub(crate) fn is_for(packet: &[u8], address: &[u8]) -> bool {
    let at = if address.len() == 4 { 16 } else { 24 };
    let version = if address.len() == 4 { 4 } else { 6 };
    packet.first().is_some_and(|b| b >> 4 == version) && packet.get(at..at + address.len()) == Some(address)
}
