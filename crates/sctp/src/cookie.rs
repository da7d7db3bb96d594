//! The state cookie (RFC 9260 section 5.1.3): what a passive side must know, kept by the active one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rexmit_units::{Duration, Instant};

use crate::mac::mac;

/// What a cookie says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub local_tag: u32,
    pub peer_tag: u32,
    pub local_tsn: u32,
    pub peer_tsn: u32,
    /// The peer's window.
    pub window: u32,
    pub outbound_streams: u16,
    pub inbound_streams: u16,
    pub partial_reliability: bool,
    pub interleaving: bool,
    /// Tags of an association that is there already, own and the peer's (RFC 9260 section 5.2.2); 0 if there is none.
    pub ties: [u32; 2],
    pub created: Instant,
    pub life: Duration,
    /// The peer's addresses besides the one that the INIT came from.
    pub addresses: Vec<IpAddr>,
}

const FIXED: usize = 4 * 5 + 4 + 1 + 8 + 16;
const CODE: usize = 8;

impl Cookie {
    /// The cookie as bytes, with its code.
    pub fn seal(&self, secret: u64) -> Box<[u8]> {
        let mut out = Vec::with_capacity(FIXED + CODE + 17 * self.addresses.len());
        for word in [self.local_tag, self.peer_tag, self.local_tsn, self.peer_tsn, self.window] {
            out.extend(word.to_be_bytes());
        }
        out.extend(self.outbound_streams.to_be_bytes());
        out.extend(self.inbound_streams.to_be_bytes());
        out.push(u8::from(self.partial_reliability) | u8::from(self.interleaving) << 1);
        self.ties.iter().for_each(|tie| out.extend(tie.to_be_bytes()));
        out.extend(self.created.as_nanos().to_be_bytes());
        out.extend(self.life.as_nanos().to_be_bytes());
        for address in &self.addresses {
            match address {
                IpAddr::V4(address) => {
                    out.push(4);
                    out.extend(address.octets());
                }
                IpAddr::V6(address) => {
                    out.push(6);
                    out.extend(address.octets());
                }
            }
        }
        out.extend(mac(secret, &out).to_be_bytes());
        out.into()
    }

    /// Reads a cookie of this side's (RFC 9260 section 5.1.5 steps 1 to 3), with how much too old it is, if it is.
    /// `None`: this side has not made it like this.
    pub fn open(secret: u64, now: Instant, bytes: &[u8]) -> Option<(Self, Option<Duration>)> {
        let (body, code) = bytes.split_at(bytes.len().checked_sub(CODE)?);
        if code != mac(secret, body).to_be_bytes() {
            return None;
        }
        let cookie = Self::read(body)?;
        let age = now.saturating_since(cookie.created);
        let stale = (age > cookie.life).then(|| age.saturating_sub(cookie.life));
        Some((cookie, stale))
    }

    fn read(body: &[u8]) -> Option<Self> {
        let mut rest = body;
        let mut words = [0; 5];
        for word in &mut words {
            *word = u32::from_be_bytes(take(&mut rest)?);
        }
        let outbound_streams = u16::from_be_bytes(take(&mut rest)?);
        let inbound_streams = u16::from_be_bytes(take(&mut rest)?);
        let [flags] = take(&mut rest)?;
        let ties = [u32::from_be_bytes(take(&mut rest)?), u32::from_be_bytes(take(&mut rest)?)];
        let created = Instant::from_nanos(u64::from_be_bytes(take(&mut rest)?));
        let life = Duration::from_nanos(u64::from_be_bytes(take(&mut rest)?));
        let mut addresses = Vec::new();
        while !rest.is_empty() {
            addresses.push(match take(&mut rest)? {
                [4] => IpAddr::V4(Ipv4Addr::from(take::<4>(&mut rest)?)),
                _ => IpAddr::V6(Ipv6Addr::from(take::<16>(&mut rest)?)),
            });
        }
        let [local_tag, peer_tag, local_tsn, peer_tsn, window] = words;
        let (partial_reliability, interleaving) = (flags & 1 == 1, flags & 2 == 2);
        Some(Self {
            local_tag,
            peer_tag,
            local_tsn,
            peer_tsn,
            window,
            outbound_streams,
            inbound_streams,
            partial_reliability,
            interleaving,
            ties,
            created,
            life,
            addresses,
        })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie() -> Cookie {
        Cookie {
            local_tag: 1,
            peer_tag: 2,
            local_tsn: 3,
            peer_tsn: u32::MAX,
            window: 5,
            outbound_streams: 6,
            inbound_streams: 7,
            partial_reliability: true,
            interleaving: false,
            ties: [8, 9],
            created: Instant::from_nanos(10),
            life: Duration::from_secs(60),
            addresses: vec![[10, 0, 0, 1].into(), IpAddr::V6(Ipv6Addr::LOCALHOST)],
        }
    }

    #[test]
    fn what_is_sealed_is_read_again() {
        let bytes = cookie().seal(77);
        assert_eq!(Cookie::open(77, Instant::from_nanos(11), &bytes), Some((cookie(), None)));
    }

    #[test]
    fn no_bit_can_be_changed() {
        let bytes = cookie().seal(77);
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Cookie::open(77, Instant::ZERO, &bytes), None, "bit {bit}");
        }
        assert_eq!(Cookie::open(78, Instant::ZERO, &bytes), None);
        assert_eq!(Cookie::open(77, Instant::ZERO, &[]), None);
    }

    #[test]
    fn it_ages() {
        let bytes = cookie().seal(77);
        let at = |ns: u64| Cookie::open(77, Instant::from_nanos(ns), &bytes).unwrap().1;
        assert_eq!(at(60_000_000_010), None);
        assert_eq!(at(60_000_000_017), Some(Duration::from_nanos(7)));
    }
}
