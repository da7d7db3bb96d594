//! Scripts of packets on their way between two captures.
//!
//! A line is a packet as the capture near its sender shows it (the language of `tcp::script`), then `>` and what the
//! other capture shows: the milliseconds that it takes, several for copies, `damaged` after one that is; or `lost`; or
//! `unsent MS` for a packet that only the other one holds. A is near the client.

use rexmit_units::Instant;
use rexmit_wire::Checksum;

use crate::packet::{Batch, Packet, Tcp, Transport};
use crate::pair::{End, Options, PairRows, Pairing};
use crate::tcp::script;

/// Both captures, A first; times of both by one clock.
pub(crate) fn captures(story: &str) -> [Batch; 2] {
    let mut ends = [Batch::default(), Batch::default()];
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(';')) {
        let (packet, fate) = line.split_once('>').unwrap_or_else(|| panic!("no > in: {line}"));
        let near = usize::from(packet.split_whitespace().nth(1).is_some_and(|side| side.starts_with('s')));
        let packet = script::batch(packet).packets.remove(0);
        tell(packet, fate, near, &mut ends);
    }
    for batch in &mut ends {
        batch.packets.sort_by_key(|packet| packet.time);
        for (packet, number) in batch.packets.iter_mut().zip(1..) {
            packet.number = number;
        }
    }
    ends
}

fn tell(packet: Packet, fate: &str, near: usize, ends: &mut [Batch; 2]) {
    let mut sent = true;
    for word in fate.split_whitespace() {
        let far = &mut ends[1 - near].packets;
        match word {
            "lost" => {}
            "unsent" => sent = false,
            "damaged" => far.last_mut().expect("an arrival").checksum = Checksum::Bad,
            delay => {
                let delay: f64 = delay.parse().unwrap_or_else(|_| panic!("{delay} is not a time"));
                // Below zero where the other clock is behind.
                let time = packet.time.as_nanos().checked_add_signed((delay * 1e6).round() as i64);
                far.push(Packet { time: Instant::from_nanos(time.expect("a time")), ..packet.clone() });
            }
        }
    }
    if sent {
        ends[near].packets.push(packet);
    }
}

/// What is said of two captures.
pub(crate) fn pair(ends: &[Batch; 2], options: &Options) -> PairRows {
    let mut pairing = Pairing::new(options);
    let [a, b] = ends;
    pairing.push(End::A, a);
    pairing.push(End::B, b);
    pairing.finish()
}

/// What is said of a story, every crossing kept, by captures of one clock that ran all the time.
pub(crate) fn tale(story: &str) -> PairRows {
    pair(&captures(story), &known())
}

/// Captures of one clock that ran all the time.
pub(crate) fn known() -> Options {
    Options { same_clock: true, whole: true, crossings: true, ..Options::default() }
}

/// Changes each packet of a capture.
pub(crate) fn change(batch: &mut Batch, mut with: impl FnMut(&mut Packet, &mut Tcp)) {
    for packet in &mut batch.packets {
        let mut transport = std::mem::replace(&mut packet.transport, Transport::Tcp(Tcp::default()));
        if let Transport::Tcp(tcp) = &mut transport {
            with(packet, tcp);
        }
        packet.transport = transport;
    }
}

/// The crossings in short: side, numbers, delay in ms, fate, and what else is to be said.
pub(crate) fn told(rows: &PairRows) -> Vec<String> {
    rows.crossings
        .iter()
        .map(|row| {
            let number =
                |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
            let delay = row.delay.map_or_else(String::new, |delay| format!(" {}", delay as f64 / 1e6));
            let mut text =
                format!("{:?} {}>{}", row.side, number(row.number_sent), number(row.number_received));
            text += &format!("{delay} {:?} {}+{}", row.fate, row.seq, row.len);
            for (holds, word) in [(row.duplicate, " duplicate"), (row.reordered, " reordered")] {
                if holds {
                    text += word;
                }
            }
            text
        })
        .collect()
}
