//! What a sender's clock, the numbers of its packets and the time of its probes tell.

use super::*;
use crate::core::policy::tests::packets::probed;

/// A handshake that the client captured, 100 ms from the server and back, with clocks of a millisecond.
const STAMPED: &str = "
    0 c S 0+0 sackok ts 0/0
    100 s S 0+0 ack 1 sackok ts 50/0
    100.1 c . 1+0 ack 1 ts 100/50\n";

#[test]
fn what_leaves_long_after_all_that_its_sender_had_got_answers_nothing() {
    // By its clock, 2 and 40 ms after a packet that echoes the same report; the next report is still on its way.
    let again = |ms: u32| {
        let (seen, sent) = (650 + ms, 600 + ms);
        let last = format!("{seen} s . 1001+1000 ack 1 ts {sent}/500\n");
        causes(&[
            STAMPED,
            "200 s . 1+1000 ack 1 ts 150/100
             200.1 c . 1+0 ack 1001 ts 200/150
             500 s . 2001+1000 ack 1 ts 450/200
             500.1 c . 1+0 ack 1001 ts 500/150 sack 2001-3001
             650 s . 3001+1000 ack 1 ts 600/500
             650.1 c . 1+0 ack 1001 ts 650/150 sack 2001-4001\n",
            &last,
        ])
    };
    assert_eq!(again(40)[0].1, Timeout);
    assert_eq!(again(2)[0].1, Fast, "it left with the packet before");
}

#[test]
fn what_echoes_a_new_acknowledgment_goes_on_after_a_timeout() {
    // The acknowledgments wait on their way: one that left before the expiry arrives a second after it.
    let second = |echo: u32| {
        let last = format!("1500 s . 1001+1000 ack 1 ts 1450/{echo}\n");
        causes(&[
            STAMPED,
            "200 s . 1+1000 ack 1 ts 150/100
             200 s . 1001+1000 ack 1 ts 150/100
             200 s . 2001+1000 ack 1 ts 150/100
             200.1 c . 1+0 ack 1001 ts 200/150
             210.1 c . 1+0 ack 3001 ts 210/150
             700 s . 1+1000 ack 1 ts 650/100
             700.1 c . 1+0 ack 3001 ts 700/150\n",
            &last,
        ])[1]
    };
    assert_eq!(second(200).1, GoBackN);
    assert_eq!(second(100).1, Timeout, "it had got nothing");
}

#[test]
fn a_number_that_no_new_data_had_was_that_of_a_lost_retransmission() {
    // A queue holds all up. Packet 8 is missing, and no data are that it could have carried.
    let again = |lost: u32| {
        let mut script = "0 c S 0+0 sackok\n 100 s S 0+0 ack 1 sackok ident 1\n 100.1 c . 1+0 ack 1
            200 s . 1+1000 ack 1 ident 2\n 201 s . 1001+1000 ack 1 ident 3\n 203 s . 3001+1000 ack 1 ident 5
            203.1 c . 1+0 ack 2001 sack 3001-4001\n 208 s . 4001+1000 ack 1 ident 6
            208.1 c . 1+0 ack 2001 sack 3001-5001\n 213 s . 5001+1000 ack 1 ident 7
            213.1 c . 1+0 ack 2001 sack 3001-6001\n"
            .to_owned();
        for n in 0..60 {
            let (now, seq) = (218 + 5 * n, 6001 + 1000 * n);
            let number = 8 + n + if now >= 320 { lost } else { 0 };
            let end = seq + 1000;
            script += &format!("{now} s . {seq}+1000 ack 1 ident {number}\n");
            script += &format!("{now}.1 c . 1+0 ack 2001 sack 3001-{end}\n");
        }
        causes(&[&script, &format!("520 s . 2001+1000 ack 1 ident {}\n", 68 + lost)])
    };
    assert_eq!(again(1), [(132, SackRecovery, Likely)]);
    assert_eq!(again(0), [(132, Fast, Likely)]);
}

#[test]
fn a_probe_of_a_single_segment_is_told_by_the_time_when_it_is_due() {
    // Two round trips and 200 ms (RFC 8985 section 7.2), of a sender of which nothing else is known. One may be a timer by
    // chance, and so may one among others.
    let again = |rtt: u32, waited: [u32; 2]| {
        let found = causes(&[&probed(rtt, waited)]);
        [found[0].1, found[1].1]
    };
    assert_eq!(again(100, [400, 400]), [Timeout, TailProbe]);
    assert_eq!(again(100, [400, 412]), [Timeout, Timeout]);
    assert_eq!(again(100, [300, 400]), [Timeout, Timeout]);
    // The timer of the standard may be due then too (RFC 6298 section 2.4).
    assert_eq!(again(400, [1000, 1000]), [Timeout, Timeout]);
}
