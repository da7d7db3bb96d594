use std::io::Cursor;
use std::thread;

use rexmit_capture::{Reader, Writer};

use super::feed::Feed;
use super::{Run, RunOptions};
use crate::packet::{Packet, Transport};
use crate::script::packets;

/// `n` rounds of a segment and its acknowledgment.
fn capture(n: u32) -> Vec<u8> {
    let mut script = String::from(
        "0 c S 100+0 win 60000 ws 1 sackok # opened
         5 s S 900+0 ack 101 win 50000 ws 2 sackok
         10 c . 101+0 ack 901 win 30000\n",
    );
    for round in 0..n {
        let (time, seq) = (20 + 2 * round, 901 + 100 * round);
        script += &format!("{time} s . {seq}+100 ack 101 win 50000\n");
        script += &format!("{} c . 101+0 ack {} win 30000 # round {round}\n", time + 1, seq + 100);
    }
    let mut writer = Writer::new(Vec::new(), "server").expect("memory takes all");
    for (time, _, packet, note) in packets(&script) {
        writer.write_packet(time, &packet, note).expect("memory takes all");
    }
    writer.finish().expect("memory takes all")
}

fn reader(bytes: &[u8]) -> Reader<Cursor<Vec<u8>>> {
    Reader::new(Cursor::new(bytes.to_vec())).expect("a capture")
}

fn alone(bytes: &[u8]) -> Run {
    Run::new(reader(bytes), &RunOptions::default())
}

fn ahead(bytes: &[u8]) -> Run {
    Run::ahead(reader(bytes), &RunOptions::default(), |work| drop(thread::spawn(work)))
}

/// All packets with their notes, as text.
fn fed(mut feed: Feed) -> Vec<String> {
    let mut seen = Vec::new();
    while let Some((batch, progress)) = feed.next() {
        for packet in &batch.packets {
            let note = packet.note.map(|at| &batch.notes[at as usize]);
            seen.push(format!("{packet:?} {note:?}"));
        }
        seen.push(format!("{progress:?}"));
    }
    seen.push(format!("{:?}", feed.end()));
    seen
}

#[test]
fn two_threads_give_what_one_gives() {
    for rounds in [0, 1, 510, 511, 5_000] {
        let bytes = capture(rounds);
        let one = fed(Feed::here(reader(&bytes), None));
        let (feed, work) = Feed::elsewhere(reader(&bytes), None);
        thread::spawn(work);
        assert_eq!(one, fed(feed), "{rounds}");
        assert_eq!(one.iter().filter(|line| line.starts_with("Packet")).count(), 3 + 2 * rounds as usize);
    }
}

#[test]
fn a_packet_is_what_the_capture_shows() {
    let bytes = capture(1);
    let mut feed = Feed::here(reader(&bytes), None);
    let (batch, _) = feed.next().expect("packets");
    let [syn, syn_ack, ack, data, _] = &batch.packets[..] else { panic!("five packets") };
    let tcp = |packet: &Packet| match &packet.transport {
        Transport::Tcp(tcp) => tcp.clone(),
        Transport::Sctp { .. } => panic!("tcp"),
    };
    assert_eq!((syn.number, syn.interface, syn.ttl), (1, 0, 64));
    assert_eq!(syn.src.to_string(), "10.0.1.1:40000");
    assert_eq!(syn.dst.to_string(), "10.0.2.2:80");
    assert_eq!((syn_ack.src, syn_ack.dst), (syn.dst, syn.src));
    assert_eq!(syn.note.map(|at| &*batch.notes[at as usize]), Some("opened"));
    assert_eq!((tcp(syn).mss, tcp(syn).window_scale, tcp(syn).sack_permitted), (Some(1460), Some(1), true));
    assert_eq!((tcp(ack).ack.0, tcp(ack).window, tcp(ack).len), (901, 30_000, 0));
    assert_eq!((tcp(data).seq.0, tcp(data).len, data.number), (901, 100, 4));
    assert_eq!((data.time - syn.time).as_nanos(), 20_000_000);
}

#[test]
fn a_run_tells_how_far_it_came_and_what_it_came_to() {
    let bytes = capture(5_000);
    for run in [alone, ahead] {
        let mut run = run(&bytes);
        let mut steps = Vec::new();
        while run.step(4_000).is_some() {
            steps.push(run.progress().packets);
        }
        assert!(run.step(1).is_none(), "it is over");
        // Whole batches, so a few more than asked for.
        assert_eq!(steps, [4_096, 8_192, 10_003]);
        assert_eq!(run.progress().bytes, bytes.len() as u64);
        let summary = run.finish();
        assert_eq!((summary.packets, summary.tcp, summary.sctp), (10_003, 10_003, 0));
        assert_eq!(summary.skipped.records(), 0);
        assert!(summary.broken_off.is_none());
        assert_eq!(summary.interfaces[0].name.as_deref(), Some("server"));
    }
}

#[test]
fn a_capture_that_breaks_off_is_judged_up_to_there() {
    let bytes = capture(100);
    for run in [alone, ahead] {
        let mut run = run(&bytes[..bytes.len() - 10]);
        while run.step(u64::MAX).is_some() {}
        let summary = run.finish();
        assert_eq!(summary.tcp, 202);
        let error = summary.broken_off.expect("an error").to_string();
        assert!(error.starts_with("byte ") && error.contains("ends within"), "{error}");
    }
}

#[test]
fn a_run_that_is_given_up_does_not_hang() {
    let bytes = capture(20_000);
    let mut run = ahead(&bytes);
    assert!(run.step(1).is_some());
    assert_eq!(run.finish().packets, 1_024);
    drop(ahead(&bytes));
}

#[test]
fn packets_that_change_places_in_the_file_are_put_in_order_and_counted() {
    let script = "0 c S 100+0
        5 s S 900+0 ack 101
        10 c . 101+0 ack 901
        20 s . 1001+100 ack 101
        19.9 s . 901+100 ack 101
        30 c . 101+0 ack 1101";
    let mut writer = Writer::new(Vec::new(), "test").expect("memory takes all");
    for (time, _, packet, _) in packets(script) {
        writer.write_packet(time, &packet, None).expect("memory takes all");
    }
    let bytes = writer.finish().expect("memory takes all");
    let reader = Reader::new(Cursor::new(bytes)).expect("a capture of ours");
    let mut run = Run::new(reader, &RunOptions::default());
    let mut rows = Vec::new();
    while let Some(new) = run.step(1 << 10) {
        rows.extend(new.connections);
    }
    assert_eq!(rows[0].server.reordered_packets, 0);
    let backwards = run.finish().backwards;
    assert_eq!((backwards.packets, backwards.largest), (1, 100_000));
}
