use crate::rows::{Cause, Rows};
use crate::tcp::script::{analyse, batch, connection};
use crate::{Analyzer, Options};

#[test]
fn syns_without_an_answer_are_a_connection() {
    let script = "0 c S 100+0 # first\n1000 c S 100+0\n3000 c S 100+0";
    let rows = analyse(script);
    let row = &rows.connections[0];
    assert_eq!(
        (row.packets, row.client.packets, row.handshake.syn, row.handshake.syn_ack),
        (3, 3, true, false)
    );
    assert_eq!((row.start.as_nanos(), row.end.as_nanos()), (0, 3_000_000_000));
    let causes: Vec<_> = rows.retransmissions.iter().map(|row| (row.number, row.cause)).collect();
    assert_eq!(causes, [(2, Cause::Syn), (3, Cause::Syn)]);
    let notes: Vec<_> = rows.segments.iter().map(|row| (row.number, row.note.as_deref())).collect();
    assert_eq!(notes, [(1, Some("first")), (2, None), (3, None)]);
}

#[test]
fn an_answer_begins_it_with_all_that_was_before() {
    let row = connection("0 c S 100+0\n1000 c S 100+0\n1010 s S 500+0 ack 101\n1010 c . 101+0 ack 501");
    assert_eq!((row.packets, row.connection), (4, 1));
    assert_eq!(row.handshake.server_rtt, None, "the SYN was sent twice");
}

#[test]
fn many_syns_are_one_connection_too() {
    let script: String = (0..30).map(|n| format!("{} c S 100+0\n", n * 1000)).collect();
    assert_eq!(connection(&script).packets, 30);
}

#[test]
fn the_answer_of_the_other_side_may_be_a_syn() {
    // Simultaneous opening: not a scan.
    let row = connection("0 c S 100+0\n1 s S 500+0\n2 c S 100+0 ack 501\n3 s S 500+0 ack 101");
    assert_eq!(row.packets, 4);
    assert_eq!((row.client.packets, row.server.packets), (2, 2));
}

#[test]
fn connections_end_in_their_order_a_few_at_a_time() {
    let mut analyzer = Analyzer::new(&Options::default());
    let script: String = (1..=5).map(|n| format!("{n} c{n} S 100+0\n")).collect();
    // The second one is answered.
    analyzer.push(&batch(&format!("{script} 9 s2 S 500+0 ack 101")));
    let numbers = |rows: &Rows| rows.connections.iter().map(|row| row.connection).collect::<Vec<_>>();
    assert!(!analyzer.finish_some(2));
    assert_eq!(numbers(&analyzer.take_rows()), [1, 2]);
    assert!(!analyzer.finish_some(2));
    assert_eq!(numbers(&analyzer.take_rows()), [3, 4]);
    assert!(analyzer.finish_some(2));
    assert_eq!(numbers(&analyzer.take_rows()), [5]);
}

#[test]
fn an_unanswered_one_is_small() {
    assert!(std::mem::size_of::<super::Unanswered>() <= 256);
}
