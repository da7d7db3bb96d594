//! A trace of a link: no input panics, an error is one line that names the file; one that is right is read in spans, as
//! the other kind, and by a link, whose packets leave in order and not before they came.

use std::sync::Arc;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_path::trace::{Converter, IntoCsv, IntoMahimahi, TraceFormat, bins};
use rexmit_path::{Direction, PathSpec, TraceFile};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{IpFields, Packet, Payload, Transport, UdpDatagram};

/// Spans of time that a trace is cut into, and pieces of the other kind.
const PARTS: u64 = 8;

/// Bits of a packet that follows the link.
const PACKET_BITS: f64 = 1_024.0;
/// Most rounds of a trace that one may take.
const LONGEST_WAIT: f64 = 100.0;

/// Runs one input: a first byte that says how a link follows the trace, and its lines.
pub fn run(data: &[u8]) {
    let Some((&kind, lines)) = data.split_first() else { return };
    let file = match TraceFile::survey("x", Arc::new(lines.to_vec())) {
        Ok(file) => file,
        Err(error) => return one_line(&error.to_string()),
    };
    let about = *file.about();
    let span = Duration::from_nanos(about.last.as_nanos() / PARTS + 1);
    let all = bins(&file, span);
    let lengths: u64 = all.iter().map(|one| one.length).sum();
    assert_eq!(lengths, about.last.as_nanos().max(1));
    match about.format {
        TraceFormat::Mahimahi => {
            let made = whole(IntoCsv::new(&file, span));
            // Of a trace of which nothing passes in the first pieces, there is no rate.
            if let Err(error) = TraceFile::survey("made", Arc::new(made)) {
                assert!(error.to_string().contains("the rate is 0 in every row"), "{error}");
            }
        }
        TraceFormat::Csv if about.rate.is_some() => drop(whole(IntoMahimahi::new(&file))),
        TraceFormat::Csv => {}
    }
    // A packet that waits for many rounds reads each of them: no input is worth a million.
    let bits: Option<f64> = all.iter().map(|one| one.bits).sum();
    if bits.is_none_or(|bits| bits * LONGEST_WAIT >= PACKET_BITS) {
        follow(&file, kind);
    }
}

fn whole(mut converter: impl Converter) -> Vec<u8> {
    let made = (0..PARTS).map_while(|_| converter.piece()).collect::<String>().into_bytes();
    converter.left_out().iter().for_each(|text| one_line(text));
    made
}

fn follow(file: &TraceFile, kind: u8) {
    let key = ["rate", "changes"][usize::from(kind & 1)];
    let repeat = kind & 2 > 0;
    let shaper = ["exact", "dummynet", "cisco"][usize::from(kind >> 2) % 3];
    let text = format!("{key} = {{ trace = \"x\", repeat = {repeat} }}\nshaper = \"{shaper}\"");
    let text = if key == "changes" { format!("rate = \"1 Mbit/s\"\n{text}") } else { text };
    let spec: PathSpec = toml::from_str(&text).expect("a path");
    let mut streams = |_: &str| Xoshiro256PlusPlus::seed_from_u64(7);
    let built = Direction::with_trace(&spec.down(), "down", Duration::ZERO, &mut streams, Some(file));
    let mut link: Direction<Packet> = match built {
        Ok(link) => link,
        Err(error) => return one_line(&error.to_string()),
    };
    let mut last = Instant::ZERO;
    for n in 0..4 {
        let now = Instant::ZERO + Duration::from_nanos(file.about().last.as_nanos() / 3 * n);
        link.send(now, packet());
        while let Some(due) = link.poll_timer().filter(|due| *due <= now) {
            assert!(link.poll_receive(due).is_none() || due >= last);
            last = due;
        }
    }
    assert!(link.in_transit() <= 4);
}

fn packet() -> Packet {
    let payload = Payload::Stream { offset: 0, len: 100 };
    Packet {
        src: [10, 0, 0, 1].into(),
        dst: [10, 0, 0, 2].into(),
        ip: IpFields::default(),
        transport: Transport::Udp(UdpDatagram::new(1, 2, payload)),
        damaged: false,
    }
}

fn one_line(message: &str) {
    assert!(!message.is_empty() && !message.contains(char::is_control), "{message:?}");
}
