//! The rows of packets: numbers, windows, duplicates, blocks, connections.

mod script;

use proptest::prelude::*;
use rexmit_analysis::rows::SideName::{Client, Server};
use rexmit_analysis::rows::{Kind, SegmentRow};
use rexmit_wire::Flags;
use script::{Seen, play, play_one};

const OPENING: &str = "
    0 c S 100+0 win 60000 ws 1 sackok
    5 s S 900+0 ack 101 win 50000 ws 2 sackok
    10 c . 101+0 ack 901 win 30000";

fn after_opening(script: &str) -> Seen {
    play_one(&format!("{OPENING}\n{script}"))
}

fn transmissions(segments: &[&SegmentRow]) -> Vec<u32> {
    segments.iter().map(|row| row.transmission).collect()
}

fn duplicates(seen: &Seen) -> Vec<u32> {
    seen.acks_for(Server).iter().map(|row| row.2).collect()
}

#[test]
fn opening_gives_sides_options_and_relative_numbers() {
    let seen = after_opening("11 s P 901+10 ack 101 win 500");
    let row = seen.connection();
    assert!(row.handshake.syn && row.handshake.syn_ack);
    assert_eq!(row.packets, 4);
    assert_eq!(row.client.address.to_string(), "10.0.1.1:40000");
    assert_eq!(row.server.address.to_string(), "10.0.2.2:80");
    assert_eq!((row.client.offered.mss, row.client.offered.window_scale), (Some(1460), Some(1)));
    assert_eq!((row.server.offered.mss, row.server.offered.window_scale), (Some(1460), Some(2)));
    assert!(row.client.offered.sack_permitted);
    let rows: Vec<_> = seen.sent(Server).iter().map(|row| (row.seq, row.end, row.len)).collect();
    assert_eq!(rows, [(0, 1, 0), (1, 11, 10)]);
    assert!(seen.sent(Server)[1].flags.has(Flags::PSH));
    assert_eq!(row.server.bytes, 10);
}

#[test]
fn windows_are_scaled_but_never_those_of_a_syn() {
    let seen = after_opening("11 s P 901+10 ack 101 win 500");
    let edges: Vec<_> = seen.acks_for(Server).iter().map(|row| row.1).collect();
    assert_eq!(edges, [1 + 60_000]);
    let edges: Vec<_> = seen.acks_for(Client).iter().map(|row| row.1).collect();
    assert_eq!(edges, [1 + 50_000, 1 + 4 * 500]);
}

#[test]
fn windows_are_not_scaled_unless_both_sides_offered_it() {
    let seen = play_one(
        "0 c S 100+0 ws 3
        5 s S 900+0 ack 101
        10 c . 101+0 ack 901 win 700",
    );
    assert_eq!(seen.acks_for(Server)[0].1, 701);
}

#[test]
fn a_repeated_segment_counts_each_time_it_was_sent() {
    let seen = after_opening(
        "11 s . 901+100 ack 101
        12 s . 1001+100 ack 101
        50 s . 901+100 ack 101
        90 s . 901+200 ack 101
        91 s F 1101+0 ack 101
        99 s F 1101+0 ack 101",
    );
    assert_eq!(transmissions(&seen.sent(Server)), [1, 1, 1, 2, 3, 1, 2]);
    assert!(seen.sent(Server).iter().all(|row| row.kind != Kind::Reordered));
}

#[test]
fn a_repeated_syn_counts_and_empty_packets_do_not() {
    let seen = play_one(
        "0 c S 100+0
        3000 c S 100+0
        3001 s S 900+0 ack 101
        3002 c . 101+0 ack 901
        3003 c . 101+0 ack 901",
    );
    assert_eq!(transmissions(&seen.sent(Client)), [1, 2, 1, 1]);
}

/// Twins: what fills a hole bears the identification of a packet sent before the others, or of one sent after them.
#[test]
fn what_fills_a_hole_was_overtaken_or_sent_again() {
    let script = |ident: u32| {
        format!(
            "11 s . 1001+100 ack 101 id 101
            11.1 s . 901+100 ack 101 id {ident}
            13 s . 1101+100 ack 101 id 103"
        )
    };
    let kinds = |seen: &Seen| seen.sent(Server).iter().map(|row| row.kind).collect::<Vec<_>>();
    let overtaken = after_opening(&script(100));
    assert_eq!(kinds(&overtaken), [Kind::New, Kind::New, Kind::Reordered, Kind::New]);
    assert_eq!(transmissions(&overtaken.sent(Server)), [1, 1, 1, 1]);
    let again = after_opening(&script(102));
    assert_eq!(kinds(&again), [Kind::New, Kind::New, Kind::Retransmission, Kind::New]);
    assert_eq!(transmissions(&again.sent(Server)), [1, 1, 2, 1]);
}

#[test]
fn duplicates_are_counted_while_nothing_changes() {
    let seen = after_opening(
        "11 s . 901+100 ack 101
        12 s . 1001+100 ack 101
        20 c . 101+0 ack 1001 win 30000
        21 c . 101+0 ack 1001 win 30000
        22 c . 101+0 ack 1001 win 30000
        23 c . 101+0 ack 1001 win 30000
        24 c . 101+0 ack 1101 win 30000",
    );
    assert_eq!(duplicates(&seen), [0, 0, 1, 2, 3, 0]);
}

/// Twins: the same acknowledgments, but in the second the window of the fourth packet differs.
#[test]
fn a_changed_window_is_no_duplicate_and_starts_the_count_again() {
    let script = |window: u32| {
        format!(
            "11 s . 901+100 ack 101
            20 c . 101+0 ack 901 win 30000
            21 c . 101+0 ack 901 win {window}
            22 c . 101+0 ack 901 win {window}"
        )
    };
    assert_eq!(duplicates(&after_opening(&script(30_000))), [0, 1, 2, 3]);
    assert_eq!(duplicates(&after_opening(&script(30_100))), [0, 1, 0, 1]);
}

#[test]
fn data_fin_and_an_empty_pipe_make_no_duplicate() {
    let with_data = after_opening(
        "11 s . 901+100 ack 101
        12 c P 101+5 ack 901 win 30000
        13 c F 106+0 ack 901 win 30000",
    );
    assert_eq!(duplicates(&with_data), [0, 0, 0]);
    let nothing_outstanding = after_opening("20 c . 101+0 ack 901 win 30000");
    assert_eq!(duplicates(&nothing_outstanding), [0, 0]);
}

#[test]
fn sack_blocks_belong_to_their_acknowledgment_and_duplicates_are_told() {
    let seen = after_opening(
        "11 s . 901+100 ack 101
        12 s . 1001+100 ack 101
        13 s . 1101+100 ack 101
        20 c . 101+0 ack 901 win 30000 sack 1101-1201,1001-1051
        21 c . 101+0 ack 1001 win 30000 sack 901-1001,1101-1201
        22 c . 101+0 ack 1001 win 30000 sack 1111-1121,1101-1201",
    );
    let blocks = seen.sacks_for(Server);
    let rows: Vec<_> =
        blocks.iter().map(|block| (block.number, block.left, block.right, block.duplicate)).collect();
    assert_eq!(
        rows,
        [
            (7, 201, 301, false),
            (7, 101, 151, false),
            (8, 1, 101, true),
            (8, 201, 301, false),
            (9, 211, 221, true),
            (9, 201, 301, false)
        ]
    );
}

#[test]
fn sequence_numbers_go_on_past_the_wrap() {
    let seen = play_one(
        "0 c S 0+0
        1 s S 4294967290+0 ack 1
        2 c . 1+0 ack 4294967291
        3 s . 4294967291+100 ack 1
        4 c . 1+0 ack 95
        5 s . 4294967291+100 ack 1",
    );
    let rows: Vec<_> = seen.sent(Server).iter().map(|row| (row.seq, row.end, row.transmission)).collect();
    assert_eq!(rows, [(0, 1, 1), (1, 101, 1), (1, 101, 2)]);
    assert_eq!(seen.acks_for(Server).last().map(|row| row.0), Some(101));
}

#[test]
fn a_capture_from_the_middle_has_relative_numbers_and_says_so() {
    let seen = play_one(
        "0 s . 5001+100 ack 77
        1 c . 77+0 ack 5101",
    );
    assert!(!seen.connection().handshake.syn);
    assert_eq!(seen.connection().client.address.port(), 80);
    assert_eq!((seen.sent(Client)[0].seq, seen.acks_for(Client)[0].0), (1, 101));
}

#[test]
fn an_answer_seen_first_names_the_server() {
    let seen = play_one("0 s S 900+0 ack 101");
    assert_eq!(seen.connection().server.address.port(), 80);
    assert_eq!(seen.acks_for(Client).len(), 1);
    assert_eq!(seen.sent(Server).len(), 1);
}

#[test]
fn interfaces_are_kept_apart() {
    let seen = play(
        "0 c S 100+0 if 0
        5 c S 100+0 if 1
        6 s S 900+0 ack 101 if 1",
    );
    let rows: Vec<_> = seen.rows.connections.iter().map(|c| (c.interface, c.packets)).collect();
    assert_eq!(rows, [(0, 1), (1, 2)]);
    assert!(seen.rows.segments.iter().all(|row| row.transmission == 1));
}

#[test]
fn ports_used_again_with_another_initial_number_are_another_connection() {
    let first = format!("{OPENING}\n 20 c F 101+0 ack 901\n 21 s F 901+0 ack 102");
    assert_eq!(play(&format!("{first}\n 30 c S 5000+0")).rows.connections.len(), 2);
    assert_eq!(play(&format!("{first}\n 30 c S 100+0")).rows.connections.len(), 1);
    // Also where the capture does not hold the end of the first one.
    assert_eq!(play(&format!("{OPENING}\n 30 c S 5000+0")).rows.connections.len(), 2);
}

#[test]
fn comments_are_handed_on_and_decide_nothing() {
    let with = after_opening(
        "11 s . 901+100 ack 101 # dropped by pattern at position 2
        50 s . 901+100 ack 101",
    );
    let without = after_opening(
        "11 s . 901+100 ack 101
        50 s . 901+100 ack 101",
    );
    assert_eq!(with.sent(Server)[1].note.as_deref(), Some("dropped by pattern at position 2"));
    assert_eq!(transmissions(&with.sent(Server)), transmissions(&without.sent(Server)));
    assert_eq!(without.sent(Server)[1].note, None);
}

#[test]
fn a_reset_acknowledges_nothing() {
    let seen = after_opening("11 c R 101+0 ack 901 win 0");
    assert_eq!(seen.acks_for(Server).len(), 1);
    assert!(seen.sent(Client).last().is_some_and(|row| row.flags.has(Flags::RST)));
}

fn any_packet() -> impl Strategy<Value = String> {
    let side = prop::sample::select(vec!["c", "s"]);
    let flags = prop::sample::select(vec![".", "S", "F", "P", "R", "SF", "FP", "SR"]);
    let number = prop_oneof![Just(0_u32), Just(u32::MAX), 1_u32..5000, any::<u32>()];
    let ack = prop::option::of(number.clone());
    let blocks = prop::collection::vec((number.clone(), number.clone()), 0..4);
    (side, flags, number, 0_u32..3000, ack, any::<u16>(), blocks).prop_map(
        |(side, flags, seq, len, ack, window, blocks)| {
            let ack = ack.map(|ack| format!(" ack {ack}")).unwrap_or_default();
            let blocks: Vec<_> = blocks.iter().map(|(left, right)| format!("{left}-{right}")).collect();
            let sack = if blocks.is_empty() { String::new() } else { format!(" sack {}", blocks.join(",")) };
            let scale = if flags.contains('S') { format!(" ws {}", window % 256) } else { String::new() };
            format!("1 {side} {flags} {seq}+{len}{ack} win {window}{scale}{sack}")
        },
    )
}

proptest! {
    /// Whatever comes, nothing panics, no packet is lost, and no acknowledgment is a duplicate of nothing.
    #[test]
    fn any_packets_give_a_row_each(packets in prop::collection::vec(any_packet(), 1..60)) {
        let rows = play(&packets.join("\n")).rows;
        prop_assert_eq!(rows.segments.len(), packets.len());
        prop_assert_eq!(rows.connections.iter().map(|row| row.packets).sum::<u64>(), packets.len() as u64);
        prop_assert!(rows.segments.iter().all(|row| row.transmission >= 1 && row.end >= row.seq));
        for connection in &rows.connections {
            for side in [Client, Server] {
                let own = |row: &&SegmentRow| row.connection == connection.connection && row.side == side;
                let acks: Vec<_> = rows.segments.iter().filter(own).filter(|row| row.ack.is_some()).collect();
                for (before, row) in acks.iter().zip(acks.iter().skip(1)) {
                    prop_assert!(row.duplicate == 0 || row.duplicate == before.duplicate + 1);
                    prop_assert!(row.duplicate == 0 || (row.ack, row.len) == (before.ack, 0));
                }
            }
        }
        let numbers = rows.segments.iter().map(|row| row.number).collect::<Vec<_>>();
        prop_assert!(rows.sacks.iter().all(|block| numbers.contains(&block.number)));
    }
}
