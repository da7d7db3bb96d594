//! Packets by which thresholds are held, in the words of the scripts of TCP, of SCTP and of pairs.

/// The handshake of a capture that the server made, 50 ms from its client.
pub(super) const NEAR: &str = "0 c S 0+0\n 0.1 s S 0+0 ack 1\n 50 c . 1+0 ack 1\n";

/// The handshake of one that the client made.
pub(super) const FAR: &str = "0 c S 0+0\n 50 s S 0+0 ack 1\n 50.1 c . 1+0 ack 1\n";

/// The receiver's window is filled, and then but for a segment: a sender that waits until a large one fits.
pub(super) const DEFERRED: &str = "52 c . 1+0 ack 1 win 8760\n 60 s . 1+1460 ack 1\n 60 s . 1461+1460 ack 1\n
    60 s . 2921+1460 ack 1\n 60 s . 4381+1460 ack 1\n 60 s . 5841+1460 ack 1\n 60 s . 7301+1460 ack 1\n
    110 c . 1+0 ack 2921 win 8760\n 110.01 s . 8761+1460 ack 1\n 160 c . 1+0 ack 5841 win 8760\n
    160.01 s . 10221+1460 ack 1\n 160.01 s . 11681+1460 ack 1";

pub(super) const FOUR: &str = "60 s . 1+1000 ack 1\n 60 s . 1001+1000 ack 1\n 60 s . 2001+1000 ack 1\n
    60 s . 3001+1000 ack 1\n 110 c . 1+0 ack 1001\n";

/// The second of two captures has its clock set by 25 ms after 2 s. A little later a packet takes 20 ms longer than usual.
pub(super) const SET: &str = "1000 c S 100+0 ident 1 > 10\n 1010 s S 900+0 ack 101 ident 50 > 10
    1020 c . 101+1000 ack 901 ident 2 > 10\n 1030 s . 901+0 ack 1101 ident 51 > 10
    2000 c . 1101+1000 ack 901 ident 3 > 10\n 2010 s . 901+0 ack 2101 ident 52 > 10
    3000 c . 2101+1000 ack 901 ident 4 > 35\n 3035 s . 901+0 ack 3101 ident 53 > -15
    3100 c . 3101+1000 ack 901 ident 5 > 35\n 3135 s . 901+0 ack 4101 ident 54 > -15
    3200 c . 4101+1000 ack 901 ident 6 > 35\n 3235 s . 901+0 ack 5101 ident 55 > 5
    5200 c . 5101+1000 ack 901 ident 7 > 35\n 5235 s . 901+0 ack 6101 ident 56 > -15";

/// The receiver, 10 ms away, answers within 0.8 ms, and once only when the segment comes again.
pub(super) const UNANSWERED: &str = "0 c S 100+0 ident 1 > 5\n 5.8 s S 900+0 ack 101 ident 50 > 5
    20 c . 101+1000 ack 901 ident 2 > 5\n 25.8 s . 901+0 ack 1101 ident 51 > 5
    40 c . 1101+1000 ack 901 ident 3 > 5\n 340 c . 1101+1000 ack 901 ident 4 > 5
    345.8 s . 901+0 ack 2101 ident 52 > 5";

/// The receiver, 10 ms away, answers the segment after the next one as if that had not come, and does so soon.
pub(super) const ANSWERED_SOON: &str = "0 c S 100+0 ident 1 > 5\n 5.8 s S 900+0 ack 101 ident 50 > 5
    20 c . 101+1000 ack 901 ident 2 > 5\n 25.8 s . 901+0 ack 1101 ident 51 > 5
    40 c . 1101+1000 ack 901 ident 3 > 5\n 43 c . 2101+1000 ack 901 ident 4 > 5
    48.8 s . 901+0 ack 1101 ident 52 > 5\n 340 c . 1101+1000 ack 901 ident 5 > 5
    345.8 s . 901+0 ack 3101 ident 53 > 5";

/// The receiver, 100 ms away, answers within 3 ms, and once only when the segment comes again.
pub(super) const FAR_UNANSWERED: &str = "0 c S 100+0 ident 1 > 50\n 53 s S 900+0 ack 101 ident 50 > 50
    120 c . 101+1000 ack 901 ident 2 > 50\n 173 s . 901+0 ack 1101 ident 51 > 50
    240 c . 1101+1000 ack 901 ident 3 > 50\n 640 c . 1101+1000 ack 901 ident 4 > 50
    693 s . 901+0 ack 2101 ident 52 > 50";

/// A chunk that one SACK has reported missing goes again with another one, 1.15 s after it was sent.
pub(super) const REPORTED_ONCE: &str =
    "0 c init 1\n 100 s initack 1\n 100.1 c cookie\n 200 s cookieack\n 300 c data 1\n
    400 s sack 1\n 500 c data 2\n 1550 c data 3\n 1650 s sack 1 3-3\n 1650.1 c data 2\n 1750 s sack 3";

/// The same after 2.1 s, when a timer may have run out that was doubled.
pub(super) const REPORTED_ONCE_LATER: &str =
    "0 c init 1\n 100 s initack 1\n 100.1 c cookie\n 200 s cookieack\n 300 c data 1\n
    400 s sack 1\n 500 c data 2\n 2500 c data 3\n 2600 s sack 1 3-3\n 2600.1 c data 2\n 2700 s sack 3";

/// A sender that was seen to take one report answers four.
pub(super) const FEWER_THEN_FOUR: &str =
    "0 c init 1\n 100 s initack 1\n 100.1 c cookie\n 200 s cookieack\n 300 c data 1\n
    400 s sack 1\n 410 c data 2\n 410 c data 3\n 510 s sack 1 3-3\n 510.1 c data 2\n 610.1 s sack 3\n
    620 c data 4\n 620 c data 5\n 620 c data 6\n 620 c data 7\n 620 c data 8\n 720 s sack 3 5-5\n
    721.1 s sack 3 5-6\n 722.2 s sack 3 5-7\n 723.3 s sack 3 5-8\n 723.35 c data 4\n 823.4 s sack 8";

/// A sender that counts its packets, of which one comes late.
pub(super) const COUNTED: &str = "10 c data 1 | ident 1\n 11 c data 2 | ident 2\n 12 c data 3 | ident 3\n
    13 c data 4 | ident 4\n 15 c data 6 | ident 6\n 1600 c data 5 | ident 5";

/// A chunk goes again after four reports, seen on the way, when its timer may have run out as well.
pub(super) const FOUR_REPORTS: &str = "0 c init 1\n 0.1 s initack 1\n 100 c cookie\n 100.1 s cookieack\n 500 c data 1\n
    500.1 s sack 1\n 1000 c data 2\n 2000 c data 3\n 2000.1 s sack 1 3-3\n 2105 c data 4\n 2105.1 s sack 1 3-4\n
    2110 c data 5\n 2110.1 s sack 1 3-5\n 2112 s sack 1 3-5\n 2113 s sack 1 3-5\n 2150 c data 6\n 2150.1 s sack 1 3-6\n 2250.2 c data 2\n 2250.3 s sack 6";

/// As many packets as there are between two looks for associations that are over, the last one of them late.
pub(super) fn swept(first: &str, last: &str) -> String {
    let many = (0..8_190).map(|n| format!("{} {first}\n", n as f64 / 1e3));
    many.collect::<String>() + last
}

/// Three reports of a segment, 10 ms from the client.
pub(super) const QUICK: &str =
    "0 c S 0+0 sackok\n 0.1 s S 0+0 ack 1 sackok\n 10 c . 1+0 ack 1\n 12 s . 1+1000 ack 1\n
    22 c . 1+0 ack 1001\n 23 s . 1001+1000 ack 1\n 23 s . 2001+1000 ack 1\n 23 s . 3001+1000 ack 1\n
    23 s . 4001+1000 ack 1\n 33 c . 1+0 ack 1001 sack 2001-3001\n 33.5 c . 1+0 ack 1001 sack 2001-4001\n
    34 c . 1+0 ack 1001 sack 2001-5001\n";

/// The same, 80 ms from the client.
pub(super) const USUAL: &str =
    "0 c S 0+0 sackok\n 0.1 s S 0+0 ack 1 sackok\n 80 c . 1+0 ack 1\n 81 s . 1+1000 ack 1\n
    161 c . 1+0 ack 1001\n 170 s . 1001+1000 ack 1\n 170 s . 2001+1000 ack 1\n 170 s . 3001+1000 ack 1\n
    170 s . 4001+1000 ack 1\n 250 c . 1+0 ack 1001 sack 2001-3001\n 250.5 c . 1+0 ack 1001 sack 2001-4001\n
    251 c . 1+0 ack 1001 sack 2001-5001\n";

/// The same, 200 ms from the client.
pub(super) const SLOW: &str =
    "0 c S 0+0 sackok\n 0.1 s S 0+0 ack 1 sackok\n 200 c . 1+0 ack 1\n 201 s . 1+1000 ack 1\n
    401 c . 1+0 ack 1001\n 410 s . 1001+1000 ack 1\n 410 s . 2001+1000 ack 1\n 410 s . 3001+1000 ack 1\n
    410 s . 4001+1000 ack 1\n 610 c . 1+0 ack 1001 sack 2001-3001\n 610.5 c . 1+0 ack 1001 sack 2001-4001\n
    611 c . 1+0 ack 1001 sack 2001-5001\n";

/// A connection of 250 ms, long in use, of which a segment goes again after this many milliseconds, two above it
/// reported.
pub(super) fn reordered(after: f64) -> String {
    let mut script =
        String::from("0 c S 0+0 sackok ws 0\n 0.1 s S 0+0 ack 1 sackok ws 0\n 250 c . 1+0 ack 1\n");
    for n in 0..20 {
        let (at, seq) = (300 + 251 * n, 1 + 1000 * n);
        script += &format!("{at} s . {seq}+1000 ack 1\n{} c . 1+0 ack {}\n", at + 250, seq + 1000);
    }
    script += "6000 s . 20001+1000 ack 1\n 6000 s . 21001+1000 ack 1\n 6000 s . 22001+1000 ack 1\n
        6250 c . 1+0 ack 20001 sack 21001-22001\n 6250 c . 1+0 ack 20001 sack 21001-23001\n";
    script + &format!("{} s . 20001+1000 ack 1", 6000.0 + after)
}

/// A timeout in the middle of the path, with timestamps.
pub(super) fn stamped_silence() -> String {
    "0 c S 0+0 ts 1/0\n 30 s S 0+0 ack 1 ts 31/1\n 60 c . 1+0 ack 1 ts 61/31\n 90 s . 1+1000 ack 1 ts 91/61\n
    120 c . 1+0 ack 1001 ts 121/91\n 150 s . 1001+1000 ack 1 ts 151/121\n 151 s . 2001+1000 ack 1 ts 152/121\n
    650 s . 1001+1000 ack 1 ts 651/121\n 680 c . 1+0 ack 3001 ts 681/651"
        .into()
}

/// A receiver that answers at once, and once after 40 ms.
pub(super) const DELAYED: &str = "110 s . 1+1000 ack 1\n 111 c . 1+0 ack 1001\n 160 s . 1001+1000 ack 1\n
    200 c . 1+0 ack 2001\n";

/// Rounds of full segments, each acknowledged at once after a round trip of this many ms, in a capture that the server
/// made.
pub(super) fn rounds(of: &[(u32, u32)]) -> String {
    let (mut script, mut now, mut next) = (NEAR.to_owned(), 60.0, 1);
    for &(segments, rtt) in of {
        for _ in 0..segments {
            script += &format!("{now} s . {next}+1460 ack 1\n");
            next += 1460;
        }
        now += f64::from(rtt);
        script += &format!("{now} c . 1+0 ack {next} win 65535\n");
        now += 0.01;
    }
    script + &format!("{now} s . {next}+1460 ack 1\n")
}

/// Full segments each 5 ms, whose acknowledgments come between them.
pub(super) fn paced() -> String {
    let mut script = NEAR.to_owned();
    for n in 0..60 {
        if n >= 10 {
            let acked = (n - 10) * 1460 + 1461;
            script += &format!("{} c . 1+0 ack {acked} win 65535\n", 57 + 5 * n);
        }
        script += &format!("{} s . {}+1460 ack 1\n", 60 + 5 * n, n * 1460 + 1);
    }
    script
}

/// Three segments, each answered after this many ms, and then some that go again after this many, in a capture that the
/// server made.
pub(crate) fn probed(rtt: u32, waited: [u32; 2]) -> String {
    let mut script = format!("0 c S 0+0 sackok\n 0.1 s S 0+0 ack 1 sackok\n {rtt} c . 1+0 ack 1 win 20000\n");
    let mut now = rtt + 10;
    for (seq, wait) in (1..).step_by(1000).zip([0, 0, 0].into_iter().chain(waited)) {
        script += &format!("{now} s . {seq}+1000 ack 1\n");
        if wait > 0 {
            now += wait;
            script += &format!("{now} s . {seq}+1000 ack 1\n");
        }
        now += rtt;
        script += &format!("{now} c . 1+0 ack {} win 20000\n", seq + 1000);
        now += 10;
    }
    script
}

/// Segments that come after `first` ms, then every `step` ms, and the last after `last`, in a capture that the client made,
/// 50 ms from the server and back. The second is missing, is reported three times, and comes a millisecond after the last.
pub(super) fn spaced(first: u32, step: u32, last: u32) -> String {
    let mut script = "0 c S 0+0 sackok\n 50 s S 0+0 ack 1 sackok\n 50.1 c . 1+0 ack 1\n
        100 s . 1+1000 ack 1\n 100.1 c . 1+0 ack 1001\n"
        .to_owned();
    let mut now = 100;
    for n in 0..20 {
        now += match n {
            0 => first,
            19 => last,
            _ => step,
        };
        let (seq, end) = (2001 + 1000 * n, 3001 + 1000 * n);
        script += &format!("{now} s . {seq}+1000 ack 1\n");
        if n < 3 {
            script += &format!("{now}.1 c . 1+0 ack 1001 sack 2001-{end}\n");
        }
    }
    script + &format!("{} s . 1001+1000 ack 1\n", now + 1)
}
