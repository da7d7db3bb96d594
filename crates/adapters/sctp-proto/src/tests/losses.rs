//! What a loss costs: 20 packets over a round trip of 100 ms, and a thin stream.

use rexmit_stack::Reason;

use super::*;

/// When 20 messages, each as long as a packet, have been read: milliseconds since the first left.
fn twenty(lost: Option<usize>) -> (u64, Pair<SctpEnd>) {
    let mut pair = connected(&SctpProtoConfig::default());
    let mut number = 0;
    pair.loses = Box::new(move |from, _, sent: &Sent| {
        let counts = from == CLIENT && !sent.tsns().is_empty();
        number += usize::from(counts);
        counts && Some(number) == lost
    });
    pair.to_write[CLIENT] = messages(20, 1_440);
    pair.write(CLIENT);
    while pair.bytes_read(SERVER) < 20 * 1_440 && pair.step() {}
    assert_eq!(pair.ends[SERVER].misplaced_bytes(), 0);
    (pair.now().as_nanos() / 1_000_000 - 1_000, pair)
}

/// Three reports repair all but the last three. Their loss waits for a timer of a second, which begins at the last SACK; the
/// last packet's comes 200 ms later, since the peer waits for a second packet.
#[test]
fn each_of_twenty_packets_lost_in_turn() {
    let (whole, _) = twenty(None);
    assert_eq!(whole, 350);
    let costs: Vec<u64> = (1..=20).map(|lost| twenty(Some(lost)).0 - whole).collect();
    assert_eq!(costs[..7], [100; 7]);
    // Repaired before the last packets are there.
    assert_eq!(costs[7..12], [0; 5]);
    assert_eq!(costs[12..17], [100; 5]);
    assert_eq!(costs[17..], [1_100, 1_100, 1_300]);
}

#[test]
fn three_reports_make_it_send_again_and_the_tail_waits_for_the_timer() {
    let (_, early) = twenty(Some(8));
    let counters = early.ends[CLIENT].counters();
    assert_eq!((counters.retransmits, counters.fast_retransmits, counters.timeouts), (1, 1, 0));
    let again = early.log.iter().find(|sent| matches!(sent.reason, Reason::Fast { .. })).unwrap();
    let lost = early.log.iter().find(|sent| sent.lost).unwrap();
    assert_eq!(again.tsns()[0], lost.tsns()[0]);
    let (_, tail) = twenty(Some(19));
    let counters = tail.ends[CLIENT].counters();
    assert_eq!((counters.retransmits, counters.fast_retransmits, counters.timeouts), (1, 0, 1));
    let again = tail.log.iter().find(|sent| sent.reason == Reason::Timeout { backoff: 1 }).unwrap();
    assert_eq!(again.tsns(), tail.log.iter().find(|sent| sent.lost).unwrap().tsns());
}

/// 100 bytes each 200 ms: three later messages report the loss of one, the third of them 700 ms after it.
#[test]
fn a_thin_stream_waits_for_three_reports() {
    let mut pair = connected(&SctpProtoConfig::default());
    pair.loses = Box::new(|from, number, _| from == CLIENT && number == 7);
    for _ in 0..20 {
        pair.to_write[CLIENT] = messages(1, 100);
        pair.write(CLIENT);
        let next = pair.now() + Duration::from_millis(200);
        pair.run_until(next);
    }
    assert_eq!(pair.bytes_read(SERVER), 2_000);
    assert_eq!(times(&pair.log, |sent| sent.lost), [2_000]);
    assert_eq!(times(&pair.log, |sent| sent.reason == Reason::Fast { duplicates: 3, sacked: 0 }), [2_700]);
}
