//! Which keys of a transfer say how its writes are delivered, and which of them go together.

use rexmit_stack::quic::PLACE_BYTES;

use crate::spec::{TransferError, TransferSpec};
use crate::workload::Bulk;

impl TransferSpec {
    /// Its keys that only a stack which keeps messages apart can heed.
    pub fn of_messages(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("streams", self.streams.is_some()),
            ("unordered", self.unordered.is_some()),
            ("lifetime", self.lifetime.is_some()),
            ("max_retransmits", self.max_retransmits.is_some()),
        ];
        given.into_iter().filter_map(|(key, given)| given.then_some(key))
    }

    /// The first of its keys that this protocol has nothing for, and what does.
    pub fn beyond_protocol(&self, protocol: &str) -> Option<(&'static str, &'static str)> {
        if protocol != "quic" && self.datagrams == Some(true) {
            let text = "only QUIC has datagrams (RFC 9221), such as hosts.*.stack = \"rfc9000\"";
            return Some(("datagrams", text));
        }
        let mut keys = self.of_messages();
        let (key, text) = match protocol {
            "tcp" => {
                (keys.next(), "TCP is a stream of bytes; of SCTP only, such as hosts.*.stack = \"rfc9260\"")
            }
            "quic" => (
                keys.find(|key| *key != "streams"),
                "QUIC's streams are in order and reliable; of SCTP only, such as hosts.*.stack = \"rfc9260\"",
            ),
            _ => return None,
        };
        key.map(|key| (key, text))
    }

    /// Refuses what datagrams cannot have.
    pub(crate) fn check_datagrams(&self) -> Result<(), TransferError> {
        if self.datagrams != Some(true) {
            return Ok(());
        }
        let alone = "each is by itself, in no order, and is never sent again";
        let given = [
            ("streams", self.streams.is_some(), alone),
            ("unordered", self.unordered.is_some(), alone),
            ("lifetime", self.lifetime.is_some(), alone),
            ("max_retransmits", self.max_retransmits.is_some(), alone),
            ("requests", self.requests.is_some(), "a request or an answer that is lost would never come"),
            (
                "flows",
                self.flows.is_some(),
                "what is left of a flow may be too short for one; take `writes`, `bulk` or `messages`",
            ),
            (
                "close = false",
                !self.close,
                "only the close says that there are no more, since some may be lost",
            ),
        ];
        if let Some((key, _, why)) = given.into_iter().find(|(_, given, _)| *given) {
            return Err(TransferError::NotWithDatagrams(key, why));
        }
        let size = self.bulk_write().as_u64();
        let smallest = match (&self.writes, self.bulk) {
            (Some(writes), _) => {
                writes.runs().iter().map(|run| ("`writes`", run.size)).min_by_key(|(_, size)| *size)
            }
            (_, Some(Bulk::Bytes(bytes))) if bytes.as_u64() % size > 0 => {
                Some(("the last write of `bulk`", bytes.as_u64() % size))
            }
            (_, Some(_)) => Some(("`write_size`", size)),
            _ => None,
        };
        match smallest.filter(|(_, size)| *size < PLACE_BYTES) {
            Some((key, size)) => Err(TransferError::ShortDatagram(key, size)),
            None => Ok(()),
        }
    }
}
