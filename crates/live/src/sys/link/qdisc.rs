//! Queueing disciplines of an interface, by rtnetlink.

use std::io;

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_ECHO, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcMessage};
use rexmit_path::KernelOptions;

use super::{HEADER, Links, failure, index};

/// Where a discipline stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is the interface's own.
    Root,
    /// Likewise, and another one stands in it.
    Outer,
    /// In the one that is [`Self::Outer`].
    Inner,
}

impl Place {
    /// Its number and that of what it stands in [Linux 6.1 include/uapi/linux/pkt_sched.h].
    fn numbers(self) -> [u32; 2] {
        match self {
            Self::Root => [0, ROOT],
            Self::Outer => [0x1_0000, ROOT],
            Self::Inner => [0, 0x1_0001],
        }
    }
}

impl Links {
    /// Gives an interface the discipline `kind`.
    ///
    /// # Errors
    /// What the kernel says to its options; `Unsupported` where it has no such discipline.
    pub fn add_qdisc(&self, name: &str, place: Place, kind: &str, options: &KernelOptions) -> io::Result<()> {
        let mut message = at(name, place)?;
        message.attributes.push(TcAttribute::Kind(kind.to_string()));
        if !options.as_bytes().is_empty() {
            let nested = if options.is_nested() { NESTED } else { 0 };
            let options = DefaultNla::new(TCA_OPTIONS | nested, options.as_bytes().to_vec());
            message.attributes.push(TcAttribute::Other(options));
        }
        self.socket.set_ext_ack(true)?;
        let request = RouteNetlinkMessage::NewQueueDiscipline(message);
        let answer = self.answer(request, NLM_F_CREATE | NLM_F_EXCL)?;
        match failure(&answer) {
            None => Ok(()),
            Some(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(io::Error::new(io::ErrorKind::Unsupported, format!("this kernel does not have {kind}")))
            }
            Some(e) => Err(words(&answer).map_or(e, io::Error::other)),
        }
    }

    /// Takes the discipline of an interface away, with the packets in it; it may have none.
    ///
    /// # Errors
    /// Where there is no such interface.
    pub fn remove_qdisc(&self, name: &str) -> io::Result<()> {
        let request = RouteNetlinkMessage::DelQueueDiscipline(at(name, Place::Root)?);
        match self.ask(request, 0) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Packets that the discipline of an interface has dropped.
    ///
    /// # Errors
    /// Where there is no such interface, or the kernel does not report it.
    pub fn dropped(&self, name: &str) -> io::Result<u64> {
        // Some kernels tell the asker only where an echo is asked for.
        let request = RouteNetlinkMessage::GetQueueDiscipline(at(name, Place::Root)?);
        let answer = self.answer(request, NLM_F_ECHO)?;
        if let Some(e) = failure(&answer) {
            return Err(e);
        }
        let counted = find(answer.get(HEADER + TCMSG..), TCA_STATS2).and_then(|all| find(Some(all), QUEUE));
        let drops = counted.and_then(|counted| number(counted, DROPS));
        let drops =
            drops.ok_or_else(|| io::Error::other(format!("interface {name} does not tell its drops")))?;
        // That the request has been served is told, too.
        let (served, _) = self.socket.recv_from_full()?;
        failure(&served).map_or(Ok(drops.into()), Err)
    }
}

/// A message about the discipline at a place.
fn at(name: &str, place: Place) -> io::Result<TcMessage> {
    let mut message = TcMessage::with_index(index(name)? as i32);
    let [handle, parent] = place.numbers();
    message.header.handle = handle.into();
    message.header.parent = parent.into();
    Ok(message)
}

/// What the kernel says of a request that it refuses, after the request in its answer (`NLMSGERR_ATTR_MSG`).
fn words(answer: &[u8]) -> Option<String> {
    if u16::from_ne_bytes(answer.get(6..8)?.try_into().ok()?) & ACK_TLVS == 0 {
        return None;
    }
    let request = HEADER + 4;
    let len = number(answer, request)? as usize;
    let text = find(answer.get(request + len.next_multiple_of(4)..), MESSAGE)?;
    let text = std::str::from_utf8(text).ok()?.trim_end_matches('\0').trim_end_matches('.');
    (!text.is_empty()).then(|| text.to_string())
}

/// The value of an attribute among others.
fn find(attributes: Option<&[u8]>, wanted: u16) -> Option<&[u8]> {
    let mut left = attributes?;
    loop {
        let head = |at: usize| Some(u16::from_ne_bytes(left.get(at..at + 2)?.try_into().ok()?));
        let (len, kind) = (usize::from(head(0)?), head(2)? & !NESTED);
        if kind == wanted {
            return left.get(4..len);
        }
        left = left.get(len.max(4).next_multiple_of(4)..)?;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

const ROOT: u32 = u32::MAX;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
/// `TCA_STATS_QUEUE`, and where `struct gnet_stats_queue` has its drops.
const QUEUE: u16 = 3;
const DROPS: usize = 8;
/// Bytes of `struct tcmsg`.
const TCMSG: usize = 20;
/// Attributes follow in the answer.
const ACK_TLVS: u16 = 0x200;
const MESSAGE: u16 = 1;
/// A bit of an attribute's number.
const NESTED: u16 = 1 << 15;

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut all = (4 + value.len() as u16).to_ne_bytes().to_vec();
        all.extend(kind.to_ne_bytes());
        all.extend(value);
        all.resize(all.len().next_multiple_of(4), 0);
        all
    }

    /// An answer to a request of 22 bytes.
    fn refused(flags: u16, behind: &[u8]) -> Vec<u8> {
        let mut all = vec![0; HEADER + 4 + 24];
        all[6..8].copy_from_slice(&flags.to_ne_bytes());
        all[HEADER + 4..HEADER + 8].copy_from_slice(&22_u32.to_ne_bytes());
        all.extend(behind);
        all
    }

    #[test]
    fn what_the_kernel_says_stands_behind_the_request() {
        let said = [attribute(2, &[9]), attribute(MESSAGE, b"Invalid quantum.\0")].concat();
        assert_eq!(words(&refused(ACK_TLVS, &said)), Some("Invalid quantum".into()));
        assert_eq!(words(&refused(0, &said)), None, "nothing was announced");
        assert_eq!(words(&refused(ACK_TLVS, &said[..10])), None, "cut off");
        assert_eq!(words(&refused(ACK_TLVS, &attribute(MESSAGE, b"\0"))), None);
        assert_eq!(words(&[]), None);
    }

    #[test]
    fn an_attribute_is_found_behind_others_and_in_one() {
        let inner = [attribute(1, &[1; 7]), attribute(QUEUE, &[5; 20])].concat();
        let all = [attribute(1, b"tbf\0"), attribute(TCA_STATS2 | NESTED, &inner)].concat();
        let found = find(find(Some(&all), TCA_STATS2), QUEUE);
        assert_eq!(found, Some(&[5; 20][..]));
        assert_eq!(number(found.unwrap(), DROPS), Some(0x0505_0505));
        assert_eq!(find(Some(&all), 8), None);
        assert_eq!(find(Some(&[0; 8]), 8), None, "no attribute is so short");
    }
}
