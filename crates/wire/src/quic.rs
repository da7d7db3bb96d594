//! What the headers of QUIC packets show without their keys (RFC 9000 section 17, RFC 9369 section 3.2).

/// The kinds of QUIC packets in a datagram, of which several may be together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QuicKinds(u8);

impl QuicKinds {
    /// An Initial packet.
    pub const INITIAL: Self = Self(1);
    /// A 0-RTT packet.
    pub const ZERO_RTT: Self = Self(2);
    /// A Handshake packet.
    pub const HANDSHAKE: Self = Self(4);
    /// A Retry packet.
    pub const RETRY: Self = Self(8);
    /// A 1-RTT packet, by its short header.
    pub const ONE_RTT: Self = Self(16);

    /// Those of a datagram. A short header shows little of itself: whether the flow is one of QUIC, what came before must
    /// say. None for a datagram that is not QUIC's, and none after what cannot be read.
    pub fn of(datagram: &[u8]) -> Self {
        let mut all = Self::default();
        let mut rest = datagram;
        while let Some(first) = rest.first() {
            if first & 0x80 == 0 {
                // Its fixed bit may have either value (RFC 9287); zeros after other packets make the datagram longer.
                if rest.iter().any(|byte| *byte != 0) {
                    all.0 |= Self::ONE_RTT.0;
                }
                break;
            }
            let Some((kind, behind)) = long(rest) else { break };
            all.0 |= kind.0;
            rest = behind;
        }
        all
    }

    /// One of `others` is among them.
    pub fn has(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// There are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// A packet with a long header is among them, as at the beginning of a connection.
    pub fn has_long(self) -> bool {
        self.0 & !Self::ONE_RTT.0 != 0
    }
}

/// The kind of the packet with a long header that comes first, and what follows it.
fn long(datagram: &[u8]) -> Option<(QuicKinds, &[u8])> {
    let first = *datagram.first()?;
    let version = u32::from_be_bytes(datagram.get(1..5)?.try_into().ok()?);
    let kinds = match version {
        1 => [QuicKinds::INITIAL, QuicKinds::ZERO_RTT, QuicKinds::HANDSHAKE, QuicKinds::RETRY],
        0x6b33_43cf => [QuicKinds::RETRY, QuicKinds::INITIAL, QuicKinds::ZERO_RTT, QuicKinds::HANDSHAKE],
        _ => return None,
    };
    let kind = kinds[usize::from(first >> 4 & 3)];
    let mut rest = datagram.get(5..)?;
    for _ in 0..2 {
        let (len, behind) = rest.split_first()?;
        rest = behind.get(usize::from(*len)..)?;
    }
    if kind == QuicKinds::RETRY {
        return Some((kind, &[]));
    }
    if kind == QuicKinds::INITIAL {
        let token = quic_number(&mut rest)?;
        rest = rest.get(usize::try_from(token).ok()?..)?;
    }
    let len = quic_number(&mut rest)?;
    // What a capture has cut off, or a damaged length hides, is not there.
    let behind = usize::try_from(len).ok().and_then(|len| rest.get(len..)).unwrap_or_default();
    Some((kind, behind))
}

/// A number of variable length (RFC 9000 section 16) at the beginning of `bytes`, which then begin after it.
pub fn quic_number(bytes: &mut &[u8]) -> Option<u64> {
    let first = *bytes.first()?;
    let len = 1 << (first >> 6);
    let rest = bytes.get(1..len)?;
    let number = rest.iter().fold(u64::from(first & 0x3f), |number, byte| number << 8 | u64::from(*byte));
    *bytes = &bytes[len..];
    Some(number)
}

/// What its sender says of a datagram of QUIC, whose content is sealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QuicContent {
    /// It carries data of streams, or the end of one, for the first time.
    pub new_data: bool,
    /// It carries data of streams that were sent before.
    pub repeats: bool,
    /// It acknowledges, and that is all.
    pub ack_only: bool,
    /// It carries a DATAGRAM frame (RFC 9221).
    pub datagram: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with a long header and this many bytes after its length.
    fn packet(first: u8, version: u32, token: bool, len: u8) -> Vec<u8> {
        let mut all = vec![first];
        all.extend(version.to_be_bytes());
        all.extend([2, 9, 9, 1, 9]);
        if token {
            all.push(0);
        }
        all.extend([0x40, len]);
        all.extend(vec![0xff; len.into()]);
        all
    }

    #[test]
    fn packets_of_one_datagram_are_all_seen() {
        let whole = [packet(0xc0, 1, true, 30), packet(0xe0, 1, false, 20), vec![0x40; 30]].concat();
        let kinds = QuicKinds::of(&whole);
        for kind in [QuicKinds::INITIAL, QuicKinds::HANDSHAKE, QuicKinds::ONE_RTT] {
            assert!(kinds.has(kind), "{kind:?}");
        }
        assert!(!kinds.has(QuicKinds::ZERO_RTT) && !kinds.has(QuicKinds::RETRY) && kinds.has_long());
    }

    #[test]
    fn versions_number_their_kinds_differently() {
        assert_eq!(QuicKinds::of(&packet(0xd0, 1, false, 5)), QuicKinds::ZERO_RTT);
        assert_eq!(QuicKinds::of(&packet(0xd0, 0x6b33_43cf, true, 5)), QuicKinds::INITIAL);
        assert_eq!(QuicKinds::of(&packet(0xf0, 1, false, 5)), QuicKinds::RETRY);
        assert!(QuicKinds::of(&packet(0xc0, 0x1234, true, 5)).is_empty());
    }

    #[test]
    fn what_is_no_quic_has_no_kind() {
        assert!(QuicKinds::of(b"").is_empty());
        assert!(!QuicKinds::of(b"\x01\x02 dns").has_long());
        // Padding of a datagram.
        assert_eq!(QuicKinds::of(&[packet(0xc0, 1, true, 9), vec![0; 50]].concat()), QuicKinds::INITIAL);
        let whole = packet(0xc0, 1, true, 30);
        for len in 0..whole.len() {
            let _ = QuicKinds::of(&whole[..len]);
        }
    }
}
