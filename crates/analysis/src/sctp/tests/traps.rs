//! What goes wrong in captures.

use super::super::script::{judged, play};
use super::super::{SctpCause, SctpRows};
use super::{OPENING, lines};
use crate::rows::{Confidence, Kind, Need};

fn kinds(rows: &SctpRows) -> Vec<Kind> {
    rows.chunks.iter().map(|row| row.kind).collect()
}

/// TSNs wrap in the middle of a recovery.
#[test]
fn tsns_wrap() {
    let script = "0 c init 4294967294
        100 s initack 1
        100.1 c cookie
        200 s cookieack
        300 c data 4294967294
        300.1 c data 4294967295
        300.2 c data 0
        300.3 c data 1
        300.4 c data 2
        400 s sack 4294967294
        400.3 s sack 4294967294 0-0
        400.4 s sack 4294967294 0-1
        400.5 s sack 4294967294 0-2
        400.6 c data 4294967295
        500.7 s sack 2";
    let rows = play(script);
    assert_eq!(judged(&rows), ["14 1 r1 timeout fast certain"]);
    assert_eq!(rows.retransmissions[0].class_reports, 3);
    let client = &rows.associations[0].client;
    assert_eq!((client.unique_chunks, client.acked_bytes, client.initial_tsn), (5, 500, Some(4_294_967_294)));
    assert_eq!(rows.chunks.iter().map(|row| row.tsn).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 1]);
}

/// At the receiver, a chunk that others overtook is not a retransmission, although SACKs report it missing meanwhile.
#[test]
fn reordering_at_the_receiver() {
    let mut script = String::from("0 c init 100\n0.1 s initack 1\n100 c cookie\n100.1 s cookieack\n");
    script += &lines(1_000.0, 2.0, 100..120, |tsn| format!("c data {tsn}\n1000.1 s sack {tsn}"));
    let end = |ident: [u32; 3]| {
        let [first, second, third] = ident;
        format!(
            "1100 c data 121 | ident {first}\n1100.1 s sack 119 121-121
             1100.5 c data 122 | ident {second}\n1100.6 s sack 119 121-122
             1101 c data 120 | ident {third}\n1101.1 s sack 122"
        )
    };
    // The sender's count tells, and without it, how soon it came.
    for ident in [[101, 102, 100], [0, 0, 0]] {
        let rows = play(&(script.clone() + &end(ident)));
        assert!(rows.retransmissions.is_empty());
        assert_eq!(kinds(&rows)[20..], [Kind::New, Kind::New, Kind::Reordered]);
        assert_eq!(rows.associations[0].client.reordered_chunks, 1);
    }
    // Sent after what it follows, it was sent again, for all that it comes soon.
    let rows = play(&(script + &end([101, 102, 103])));
    assert_eq!((rows.retransmissions.len(), rows.associations[0].client.reordered_chunks), (1, 0));
}

/// What was sent first comes last: a chunk that went again in front of new data is seen before its original.
#[test]
fn an_original_behind_its_repetition() {
    let mut script = String::from("0 c init 100\n0.1 s initack 1\n100 c cookie\n100.1 s cookieack\n");
    script += &lines(1_000.0, 2.0, 100..110, |tsn| format!("c data {tsn}\n1000.1 s sack {tsn}"));
    script += "1100 c data 111 | ident 102\n1100.1 s sack 109 111-111
        1120 c data 110; data 112 | ident 103\n1120.1 s sack 112
        1121 c data 110 | ident 101\n1121.1 s sack 112";
    let rows = play(&script);
    assert_eq!(judged(&rows), ["27 10 r1 timeout with-new-data likely"]);
    assert_eq!(kinds(&rows)[10..], [Kind::New, Kind::Retransmission, Kind::New, Kind::Reordered]);
}

/// Lost SACKs: the fourth report never arrives, so the timer does it; one SACK then acknowledges all.
#[test]
fn lost_sacks() {
    let script = format!("{OPENING}{}", lines(300.0, 0.5, 100..106, |tsn| format!("c data {tsn}")))
        + "400.5 s sack 99 101-101
           1300 c data 100
           1400 s sack 105";
    let rows = play(&script);
    assert_eq!(judged(&rows), ["12 0 r1 timeout timeout certain"]);
    assert_eq!(rows.retransmissions[0].evidence.reports, 1);
    // The SACK acknowledges six chunks, one of them sent twice: no RTT can be told from it.
    let samples: Vec<_> = rows.rtt.iter().filter(|row| row.tsn.is_some()).map(|row| row.rtt).collect();
    assert_eq!(samples, [100_000_000]);
}

/// The same packet captured at two ports (another TTL), or copied by the network (the same identification).
#[test]
fn copies_are_no_retransmissions() {
    let script = format!(
        "{OPENING}
         300 c data 100 | ident 7 ttl 64
         300 c data 100 | ident 7 ttl 63
         301 c data 101 | ident 0 ttl 64
         301.1 c data 101 | ident 0 ttl 64
         302 c data 102 | ident 8 ttl 64
         302.1 c data 102 | ident 9 ttl 64
         400 s sack 102 | ident 3 ttl 60
         400 s sack 102 | ident 3 ttl 59"
    );
    let rows = play(&script);
    let association = &rows.associations[0];
    assert_eq!((association.client.copies, association.server.copies, association.server.sacks), (2, 1, 1));
    assert_eq!(rows.retransmissions.len(), 1, "a new identification is a packet of its own");
    assert_eq!((association.packets, association.client.packets), (12, 6));
}

/// A damaged packet says nothing, unless all checksums of its side are wrong: then a network card fills them in.
#[test]
fn damaged_packets() {
    let rows = play(&format!("{OPENING}300 c data 100 | damaged\n1300 c data 100\n1400 s sack 100"));
    assert_eq!((rows.associations[0].client.damaged, rows.associations[0].client.chunks), (1, 1));
    let rows = play("300 c data 100 | damaged\n400 s sack 100\n500 c data 101 | damaged\n600 s sack 101");
    assert_eq!((rows.associations[0].client.damaged, rows.associations[0].client.chunks), (0, 2));
}

/// A capture that begins in the middle: no tags, no initial TSN, SACKs for chunks that were not seen.
#[test]
fn in_the_middle() {
    let rows = play(
        "0 s sack 4999
         1 c data 5001
         2 c data 5002
         3 s sack 4999 5001-5002
         4 c data 5000
         5 c data 4998
         10 s sack 5002",
    );
    assert_eq!(rows.associations.len(), 1);
    let association = &rows.associations[0];
    // The side that was seen first counts as the client.
    assert_eq!(association.client.address.port(), 80);
    let sender = &association.server;
    assert_eq!((sender.initial_tsn, sender.initial_tsn_known), (Some(5001), false));
    assert_eq!((sender.tag, association.client.tag), (Some(0xc11e), Some(0x5e24)));
    let rows: Vec<_> =
        rows.retransmissions.iter().map(|row| (row.tsn, row.first_number, row.delay_first)).collect();
    assert_eq!(rows, [(-1, None, None), (-3, None, None)]);
}

/// Chunks after a cut are not seen, and that is said; what is there is judged.
#[test]
fn truncated_packets() {
    let script = format!(
        "{OPENING}
         300 c data 100+1400 | cut 44
         1300 c data 100+1400 | cut 44
         1400 s sack 99 102-102 dup 100 | cut 28
         1401 c data 101+600; data 102+600 | cut 60"
    );
    let rows = play(&script);
    let association = &rows.associations[0];
    assert_eq!(association.client.bytes, 1400 * 2 + 600);
    // Where only user data are cut off, nothing is missing.
    assert_eq!((association.client.cut, association.server.cut), (1, 1));
    assert_eq!(rows.retransmissions[0].cause, SctpCause::Timeout);
}

/// T3 expires and the chunk goes to the peer's other address (RFC 9260 section 6.4.1); the tag alone tells whose it is.
#[test]
fn a_retransmission_on_another_path() {
    let script = format!(
        "{OPENING}
         210 c@2 hb second
         310 s@2 hback second
         300 c data 100
         1300 c@2 data 100
         1400 s@2 sack 100
         1500 c@2 data 101
         1600 s@2 sack 101"
    );
    let rows = play(&script);
    assert_eq!(rows.associations.len(), 1);
    let row = &rows.retransmissions[0];
    assert!(row.moved);
    assert_eq!((row.cause, row.need), (SctpCause::Timeout, Need::Needed));
    let paths: Vec<_> =
        rows.paths.iter().map(|p| (p.dst.to_string(), p.chunks, p.moved_chunks, p.timeouts)).collect();
    assert_eq!(
        paths,
        [
            ("10.0.1.2".into(), 1, 0, 1),
            ("10.0.2.2".into(), 2, 1, 0),
            ("10.0.1.1".into(), 0, 0, 0),
            ("10.0.2.1".into(), 0, 0, 0)
        ]
    );
    assert_eq!(rows.paths[1].rtt_heartbeat.count, 1);
    assert_eq!(rows.associations[0].client.addresses.len(), 2);
}

/// Two associations between the same addresses and ports, one after the other.
#[test]
fn ports_used_again() {
    let script =
        "0 c init 100\n1 s initack 7\n2 c cookie\n3 s cookieack\n4 c data 100\n5 s sack 100\n6 c abort";
    let again = script
        .replace("init 100", "init 900")
        .replace("data 100", "data 900")
        .replace("sack 100", "sack 900");
    let later: String = again
        .lines()
        .map(|line| {
            let (ms, rest) = line.split_once(' ').unwrap();
            format!("{} {rest} | ident 77\n", ms.parse::<u32>().unwrap() + 20_000)
        })
        .collect();
    // Even the tags are the same: what tells is that the first one has ended.
    let rows = play(&format!("{script}\n{later}"));
    assert_eq!(rows.associations.len(), 2);
    assert_eq!(
        rows.associations.iter().map(|row| row.client.initial_tsn).collect::<Vec<_>>(),
        [Some(100), Some(900)]
    );
    assert!(rows.retransmissions.is_empty() && rows.controls.is_empty());
}

/// A receiver may take back what a gap block said.
#[test]
fn reneging() {
    let script = format!("{OPENING}{}", lines(300.0, 0.5, 100..104, |tsn| format!("c data {tsn}")))
        + "400 s sack 99 101-103\n401 s sack 99 103-103\n1300 c data 100; data 101; data 102\n1400 s sack 103";
    let rows = play(&script);
    assert_eq!(rows.associations[0].server.reneged, 1);
    assert!(rows.retransmissions.iter().all(|row| row.need == Need::Needed));
}

/// Leaps of TSNs, SACKs of nothing, and no SACK at all neither panic nor fill the memory.
#[test]
fn nonsense() {
    let rows = play(
        "0 c data 1\n1 c data 3000000000\n2 s sack 77\n3 c data 5\n4 s sack 3000000000 3000000001-3000000100\n5 c data 4294967295\n6 c forward 3",
    );
    assert_eq!(rows.associations.len(), 1);
    let one_way = lines(0.0, 0.01, 0..200_000, |tsn| format!("c data {tsn}"));
    let rows = play(&one_way);
    assert_eq!(rows.associations[0].client.unique_chunks, 200_000);
    assert!(rows.retransmissions.iter().all(|row| row.confidence != Confidence::Certain));
}
