//! What the program of ns-3 writes of a scenario.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Cursor, Read};
use std::net::IpAddr;

use rexmit_capture::Reader;
use rexmit_wire::{Flags, Packet, TcpSegment};

use crate::host::{Sending, Why};
use crate::numbers::{Numbered, Numbers};
use crate::world::{Place, Ran, Truth};

/// A line without its end.
pub fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    line.pop().map(|_| line).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// What a scenario came to.
pub fn ran(from: &mut impl BufRead) -> io::Result<Ran> {
    let [count, broken_off] = numbers(&line(from)?, "ran")?;
    let reasons = bytes(from, count)?;
    let mut passed: [Vec<usize>; 3] = Default::default();
    let mut captures: [Vec<u8>; 3] = Default::default();
    for place in 0..Place::ALL.len() {
        let [records, len] = numbers(&line(from)?, "passed")?;
        let indices = bytes(from, records * 4)?;
        let index = |four: &[u8]| u32::from_le_bytes(four.try_into().expect("four bytes")) as usize;
        passed[place] = indices.chunks_exact(4).map(index).collect();
        captures[place] = bytes(from, len)?;
    }
    let truths = truths(&reasons, &passed, &captures);
    Ok(Ran { truths, passed, captures, broken_off: broken_off > 0 })
}

/// What every packet is, from the captures at the two hosts and the reasons that ns-3 noted.
fn truths(reasons: &[u8], passed: &[Vec<usize>; 3], captures: &[Vec<u8>; 3]) -> Vec<Truth> {
    let mut packets: Vec<Option<(bool, Packet)>> = vec![None; reasons.len()];
    // Each host's own capture has what the other one sent too, behind what itself sent.
    for (place, host) in [(Place::Sender, SENDER), (Place::Receiver, RECEIVER)] {
        let records = Reader::new(Cursor::new(&captures[place as usize][..])).expect("a capture of ns-3");
        for (&index, record) in passed[place as usize].iter().zip(records) {
            let record = record.expect("a whole capture");
            let packet = Packet::parse(&record.data).expect("ns-3 sends whole packets");
            if packet.src == host {
                packets[index] = Some((place == Place::Sender, packet));
            }
        }
    }
    let mut sides: BTreeMap<(IpAddr, u16, u16), Side> = BTreeMap::new();
    let truth = |(packet, &reason): (Option<(bool, Packet)>, &u8)| {
        let (by_sender, packet) = packet.expect("a host's own capture has all that it sent");
        let segment = packet.tcp().expect("TCP alone is sent");
        let side = sides.entry((packet.src, segment.src_port, segment.dst_port)).or_default();
        Truth { by_sender, sending: side.sending(reason, segment), packet }
    };
    packets.into_iter().zip(reasons).map(truth).collect()
}

/// The addresses of the hosts.
const SENDER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const RECEIVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 2, 2));

/// A host of a connection.
#[derive(Default)]
struct Side(Numbers);

impl Side {
    /// What the packet is that leaves with this reason.
    fn sending(&mut self, reason: u8, segment: &TcpSegment) -> Sending {
        match self.0.take(segment, reason == b'P') {
            Numbered::New => return Sending::New,
            Numbered::AroundProbe => return Sending::AroundProbe,
            Numbered::ProbedAgain => return Sending::Again(Why::Probe),
            Numbered::Again => {}
        }
        Sending::Again(match reason {
            b'C' if segment.flags.has(Flags::SYN.with(Flags::ACK)) => Why::SynAck,
            b'C' if segment.flags.has(Flags::SYN) => Why::Syn,
            b'C' | b'T' => Why::Timeout,
            b'L' => Why::GoBackN,
            b'F' => Why::Fast,
            b'R' => Why::SackRecovery,
            b'A' => Why::PartialAck,
            b'D' => Why::Reported,
            b'O' => Why::Open,
            other => panic!("{segment:?} left again, and ns-3 noted {}", char::from(other)),
        })
    }
}

/// The numbers behind a word.
fn numbers<const N: usize>(line: &str, word: &str) -> io::Result<[u64; N]> {
    let numbers = line.strip_prefix(word).map(|rest| rest.split_whitespace().map(str::parse));
    let numbers = numbers.and_then(|numbers| numbers.collect::<Result<Vec<u64>, _>>().ok());
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, format!("{word} is missing in {line:?}"));
    numbers.and_then(|numbers| numbers.try_into().ok()).ok_or_else(wrong)
}

fn bytes(from: &mut impl Read, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count as usize];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}
