use Confidence::{Certain, Likely};

use super::*;
use crate::tcp::script::analyse;

/// A handshake that the server captured, 50 ms from its client.
const NEAR: &str = "0 c S 0+0\n 0.1 s S 0+0 ack 1\n 50 c . 1+0 ack 1 win 4000\n";
/// The same that the client captured.
const FAR: &str = "0 c S 0+0\n 50 s S 0+0 ack 1\n 50.1 c . 1+0 ack 1 win 65000\n";

/// What held the server back, in ms: since it began, until when, and how surely.
fn held(opening: &str, packets: &str) -> Vec<(u64, u64, Held, Confidence)> {
    let rows = analyse(&[opening, packets].concat());
    let connection = &rows.connections[0];
    // Without a handshake, who sends first is taken for the client.
    let (side, row) = match connection.server.first_data {
        Some(_) => (SideName::Server, &connection.server),
        None => (SideName::Client, &connection.client),
    };
    let server: Vec<_> = rows.held.iter().filter(|row| row.side == side).collect();
    let total: u64 = server.iter().map(|row| row.end.saturating_since(row.start).as_nanos()).sum();
    assert_eq!(row.held.total(), total);
    let (first, last) = (row.first_data.expect("data"), row.last_data.expect("data"));
    assert_eq!(total, last.saturating_since(first).as_nanos(), "{rows:?}");
    let ms = |time: Instant| time.as_nanos() / 1_000_000;
    server.iter().map(|row| (ms(row.start), ms(row.end), row.by, row.confidence)).collect()
}

#[test]
fn what_did_not_fit_into_the_window_waited_for_it() {
    let packets = "60 s . 1+1460 ack 1\n 60 s . 1461+1460 ack 1\n 110 c . 1+0 ack 2921 win 4000\n
        110.01 s . 2921+1460 ack 1\n 110.01 s . 4381+1460 ack 1";
    assert_eq!(held(NEAR, packets), [(60, 110, Held::ReceiveWindow, Certain)]);
}

#[test]
fn a_small_window_with_room_holds_nobody() {
    let packets = "60 s . 1+100 ack 1\n 110 c . 1+0 ack 101 win 4000\n 500 s . 101+100 ack 1";
    let application = [(60, 110, Held::Application, Likely), (110, 500, Held::Application, Certain)];
    assert_eq!(held(NEAR, packets), application);
}

#[test]
fn an_answer_to_a_request_was_not_written_before() {
    let packets = "60 s . 1+1460 ack 1\n 300 c P 1+200 ack 1461 win 4000\n 300.1 s . 1461+1460 ack 201";
    assert_eq!(held(NEAR, packets), [(60, 300, Held::Application, Likely)]);
}

#[test]
fn an_expiry_shows_what_was_waited_for() {
    let packets = "60 s . 1+1460 ack 1\n 60 s . 1461+1460 ack 1\n 110 c . 1+0 ack 1461 win 4000\n
        500 s . 1461+1460 ack 1\n 550 c . 1+0 ack 2921 win 4000\n 550.1 s . 2921+1460 ack 1";
    let found = held(NEAR, packets);
    assert_eq!((found[1].0, found[1].1, found[1].2), (110, 500, Held::Timer), "{found:?}");
    assert_eq!(found[2].2, Held::Recovery, "{found:?}");
}

#[test]
fn nothing_is_certain_at_the_receiver() {
    let packets = "110 s . 1+1460 ack 1\n 110.1 c . 1+0 ack 1461 win 65000\n 160.2 s . 1461+1460 ack 1\n
        160.2 s . 2921+1460 ack 1\n 160.3 c . 1+0 ack 4381 win 65000\n 900 s . 4381+700 ack 1";
    let found = held(FAR, packets);
    assert!(found.iter().all(|row| row.3 == Likely), "{found:?}");
    assert_eq!(found.last().map(|row| row.2), Some(Held::Application));
}

#[test]
fn without_the_handshake_or_an_acknowledgment_nothing_is_known() {
    let packets = "60 s . 1+1460 ack 1\n 160 s . 1461+1460 ack 1";
    assert_eq!(held("", packets), [(60, 160, Held::Unknown, Likely)]);
}

#[test]
fn room_for_a_segment_that_waits_for_a_large_one_is_the_windows() {
    let filled = "52 c . 1+0 ack 1 win 8760\n 60 s . 1+1460 ack 1\n 60 s . 1461+1460 ack 1\n 60 s . 2921+1460 ack 1\n
        60 s . 4381+1460 ack 1\n 60 s . 5841+1460 ack 1\n 60 s . 7301+1460 ack 1\n 110 c . 1+0 ack 2921 win 8760\n
        110.01 s . 8761+1460 ack 1\n 160 c . 1+0 ack 5841 win 8760\n 160.01 s . 10221+1460 ack 1";
    assert_eq!(
        held(NEAR, filled),
        [(60, 110, Held::ReceiveWindow, Certain), (110, 160, Held::ReceiveWindow, Likely)]
    );
    // A congestion window that has let out no more may be what holds it.
    let short = "52 c . 1+0 ack 1 win 4380\n 60 s . 1+1460 ack 1\n 60 s . 1461+1460 ack 1\n
        110 c . 1+0 ack 1461 win 4380\n 110.01 s . 2921+1460 ack 1\n 110.01 s . 4381+1460 ack 1";
    assert_eq!(held(NEAR, short), [(60, 110, Held::SlowStart, Likely)]);
}

#[test]
fn a_send_buffer_is_as_full_each_time_though_a_part_leaves_later() {
    // Five segments each round trip, answered at once, and a sixth 20 ms later: more is never outstanding.
    let round = |at: u64, first: u64| {
        let burst: String =
            (0..5).map(|n| format!("{at}.01 s . {}+1460 ack 1\n", first + n * 1460)).collect();
        let late = format!("{} s . {}+1460 ack 1\n", at + 20, first + 5 * 1460);
        let answer = format!("{} c . 1+0 ack {} win 65000\n", at + 50, first + 6 * 1460);
        [burst, late, answer].concat()
    };
    let packets: String = (0..20).map(|n| round(60 + 50 * n, 1 + n * 6 * 1460)).collect();
    let opening = NEAR.replace("win 4000", "win 65000");
    let found = held(&opening, &packets);
    let of = |by: Held| found.iter().filter(|row| row.2 == by).map(|row| row.1 - row.0).sum::<u64>();
    assert!(of(Held::SendBuffer) > of(Held::SlowStart), "{found:?}");
    assert_eq!(found.last().map(|row| (row.2, row.3)), Some((Held::Application, Likely)), "{found:?}");
}

#[test]
fn what_leaves_evenly_with_no_more_outstanding_is_not_told() {
    // A segment every 5 ms, each acknowledged 50 ms later: BBR on a link that it fills, or any other pace.
    let mut packets: Vec<(u64, String)> = Vec::new();
    for n in 0..400 {
        let (at, first) = (60_000 + 5_000 * n, 1 + n * 1460);
        packets.push((at, format!("s . {first}+1460 ack 1")));
        packets.push((at + 50_000 - 100, format!("c . 1+0 ack {} win 65000", first + 1460)));
    }
    packets.sort();
    let line = |(at, text): &(u64, String)| format!("{}.{:03} {text}\n", at / 1000, at % 1000);
    let script: String = packets.iter().map(line).collect();
    let found = held(&NEAR.replace("win 4000", "win 65000"), &script);
    let of = |by: Held| found.iter().filter(|row| row.2 == by).map(|row| row.1 - row.0).sum::<u64>();
    assert_eq!(of(Held::SendBuffer), 0, "{found:?}");
    assert!(of(Held::Unknown) > 1000, "{found:?}");
}
