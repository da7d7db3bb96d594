//! Each threshold is held by packets whose answer changes when it moves.

pub(crate) mod packets;

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use rexmit_capture::Reader;

use super::*;
use crate::pair::tests::story;
use crate::pair::{self, PairRows, PairRun};
use crate::rows::{Rows, Tables};
use crate::tcp::script::analyse_with;
use crate::{Options, Run, RunOptions};
use packets::*;

/// What holds a threshold.
#[derive(Clone, Copy, Debug)]
enum By {
    /// A capture in `tests/captures`.
    Capture(&'static str),
    /// Two captures of `tests/captures/linux`, of a client and of its server.
    Pair(&'static str),
    /// A story of packets between two captures, made by one clock or by two.
    Story(Clock, &'static str),
    /// A packet script of TCP.
    Tcp(fn() -> String),
    /// A packet script of SCTP.
    Sctp(&'static str),
    /// A long one.
    LongSctp(fn() -> String),
}

/// How many clocks made two captures.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Clock {
    One,
    Two,
}

impl By {
    /// All that is answered by these thresholds.
    fn answer(self, policy: &'static Policy) -> String {
        let tables = Tables { segments: true, rtt: false, chunks: true, held: false };
        let options = Options { tables, policy, ..Options::default() };
        match self {
            Self::Capture(name) => {
                let mut run = Run::new(open(name), &RunOptions { analysis: options, filter: None });
                let mut told = String::new();
                while let Some(rows) = run.step(10_000) {
                    told += &tell(&rows);
                }
                told
            }
            Self::Pair(name) => {
                let reader = |side: &str| open(&format!("linux/{name}.{side}.pcap.gz"));
                let options = pair::Options { analysis: options, crossings: true, ..Default::default() };
                let mut run = PairRun::new(reader("client"), reader("server"), None, &options);
                while run.step(10_000) {}
                tell_pair(&run.finish().0)
            }
            Self::Story(clock, text) => {
                let options = pair::Options {
                    analysis: options,
                    same_clock: clock == Clock::One,
                    crossings: true,
                    ..Default::default()
                };
                tell_pair(&story::pair(&story::captures(text), &options))
            }
            Self::Tcp(script) => tell(&analyse_with(&options, &script())),
            Self::Sctp(script) => tell_sctp(&options, script),
            Self::LongSctp(script) => tell_sctp(&options, &script()),
        }
    }
}

fn tell(rows: &Rows) -> String {
    let Rows { connections, segments, retransmissions, loss_events, sctp, .. } = rows;
    format!("{connections:?} {segments:?} {retransmissions:?} {loss_events:?} {sctp:?}")
}

fn tell_sctp(options: &Options, script: &str) -> String {
    format!("{:?}", crate::sctp::script::play_by(options, script))
}

fn tell_pair(rows: &PairRows) -> String {
    let PairRows { clock, retransmissions, summaries, crossings, .. } = rows;
    format!("{clock:?} {retransmissions:?} {summaries:?} {crossings:?}")
}

fn open(name: &str) -> Reader<BufReader<File>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name);
    Reader::new(BufReader::new(File::open(path).expect("a capture"))).expect("a capture")
}

/// The standard thresholds, but for one that is this many times as large.
fn moved(name: &str, (numerator, denominator): (u64, u64)) -> &'static Policy {
    let changed = Policy::STANDARD.with(name, |value| value.scaled(numerator, denominator));
    Box::leak(Box::new(changed.expect(name)))
}

macro_rules! script {
    ($($part:expr),*) => { || [$($part),*].concat() };
}

/// Round trips of 50 ms, and then of 70.
fn queued() -> Vec<(u32, u32)> {
    [vec![(4, 50); 3], vec![(4, 70); 24]].concat()
}

type Held = (&'static str, (u64, u64), By);

/// Each threshold, how many times as large changes an answer, and which.
const HELD: &[Held] = &[
    ("tcp.place.at_sender", (1, 2), By::Capture("public/bgp-4byte-asn.pcap")),
    ("tcp.place.at_sender_share", (10, 1), By::Capture("linux/fin-lost.client.pcap.gz")),
    ("tcp.place.surely_near", (1000, 1), By::Capture("hard/zero-window.client.pcapng.gz")),
    (
        "tcp.place.surely_near_share",
        (1, 2),
        By::Tcp(script!("0 c S 0+0\n 2 s S 0+0 ack 1\n 52 c . 1+0 ack 1\n", FOUR, "600 s . 1001+1000 ack 1")),
    ),
    ("tcp.place.soonest_answer", (1000, 1), By::Capture("hard/reordering-unprovable.server.pcapng.gz")),
    ("tcp.timer.min_rto", (9, 10), By::Capture("hard/acks-lost.client.pcapng.gz")),
    (
        "tcp.timer.unsampled",
        (2, 1),
        By::Tcp(script!(NEAR, "60 s . 1+1000 ack 1\n 60 s . 1001+1000 ack 1\n 210 s . 1+1000 ack 1")),
    ),
    (
        "tcp.timer.unsampled_far",
        (1, 2),
        By::Tcp(script!(
            "0 c S 0+0 sackok\n 50 s S 0+0 ack 1 sackok\n 50.1 c . 1+0 ack 1\n 110 s . 1001+1000 ack 1\n",
            "110.1 c . 1+0 ack 1 sack 1001-2001\n 230 s . 1+1000 ack 1"
        )),
    ),
    ("tcp.timer.run_share", (2, 1), By::Capture("hard/backoff.server.pcapng.gz")),
    ("tcp.timer.soonest_share", (9, 10), By::Capture("linux/random-bbr.server.pcap.gz")),
    ("tcp.timer.syn", (10, 1), By::Capture("hard/syn-lost.client.pcapng.gz")),
    ("tcp.timer.probe_rtts", (1, 2), By::Capture("linux/tail-1-300ms.client.pcap.gz")),
    ("tcp.timer.probe_rtt_error", (10, 1), By::Capture("linux/tail-probe-lost.client.pcap.gz")),
    ("tcp.timer.probe_ack_delay", (1, 2), By::Capture("linux/tail-1-2ms.client.pcap.gz")),
    ("tcp.timer.probe_margin", (10, 1), By::Capture("linux/tail-probe-lost.client.pcap.gz")),
    ("tcp.timer.probe_error", (10, 1), By::Tcp(|| probed(100, [400, 412]))),
    ("tcp.timer.probe_tick", (10, 1), By::Tcp(|| probed(100, [400, 412]))),
    ("tcp.timer.first_rto", (2, 1), By::Tcp(|| probed(400, [1000, 1000]))),
    ("tcp.timer.reordering_rtts", (2, 1), By::Tcp(|| reordered(560.0))),
    ("tcp.timer.reordering_margin", (2, 1), By::Tcp(|| reordered(560.0))),
    ("tcp.timer.settled_rtts", (1, 2), By::Capture("linux/timeout-long-bare.client.pcap.gz")),
    ("tcp.prompt.share", (1, 2), By::Tcp(script!(USUAL, "251.9 s . 1001+1000 ack 1"))),
    ("tcp.prompt.least", (1, 2), By::Tcp(script!(QUICK, "34.2 s . 1001+1000 ack 1"))),
    ("tcp.prompt.most", (1, 2), By::Tcp(script!(SLOW, "612.2 s . 1001+1000 ack 1"))),
    (
        "tcp.prompt.at_once_share",
        (4, 1),
        By::Tcp(script!(
            "0 c S 0+0 sackok\n 0.1 s S 0+0 ack 1 sackok\n 50 c . 1+0 ack 1\n 52 s . 1+1000 ack 1\n",
            "102 c . 1+0 ack 1001\n 110 s . 1001+1000 ack 1\n 110 s . 2001+1000 ack 1\n",
            "110 s . 3001+1000 ack 1\n 110 s . 4001+1000 ack 1\n 110 s . 5001+1000 ack 1\n",
            "160 c . 1+0 ack 1001 sack 2001-3001\n 161 c . 1+0 ack 1001 sack 2001-4001\n",
            "162 c . 1+0 ack 1001 sack 2001-5001\n 162.01 s . 1001+1000 ack 1\n",
            "210 c . 1+0 ack 1001 sack 2001-6001\n 212 s . 1001+1000 ack 1"
        )),
    ),
    ("tcp.prompt.duplicates", (2, 1), By::Tcp(script!(QUICK, "34.01 s . 1001+1000 ack 1"))),
    (
        "tcp.copies.tap",
        (1, 1000),
        By::Tcp(script!(NEAR, "60 s . 1+1000 ack 1\n 60.005 s . 1+1000 ack 1\n 110 c . 1+0 ack 1001")),
    ),
    (
        "tcp.copies.tap_share",
        (2, 1),
        By::Tcp(script!(
            "0 c S 0+0\n 0.1 s S 0+0 ack 1\n 2.1 c . 1+0 ack 1\n",
            "10 s . 1+1000 ack 1\n 10.6 s . 1+1000 ack 1\n 13 c . 1+0 ack 1001"
        )),
    ),
    (
        "tcp.copies.slow_clock",
        (10, 1),
        By::Tcp(script!(
            "0 c S 0+0 ts 0/0\n 0.1 s S 0+0 ack 1 ts 0/0\n 50 c . 1+0 ack 1 ts 50/0\n",
            "60 s . 1+1000 ack 1 ts 60/50\n 110 c . 1+0 ack 1001 ts 110/60\n",
            "120 s . 1001+1000 ack 1 ts 120/110\n 300 s . 1001+1000 ack 1 ts 120/110"
        )),
    ),
    (
        "tcp.copies.follows_share",
        (1, 2),
        By::Tcp(script!(FAR, "110 s . 1+1000 ack 1\n 130 s . 1+1000 ack 1")),
    ),
    (
        "tcp.copies.overtaken_share",
        (1, 10),
        By::Tcp(script!(FAR, "110 s . 1001+1000 ack 1\n 110.1 c . 1+0 ack 1\n 120 s . 1+1000 ack 1")),
    ),
    (
        "tcp.copies.overtaken",
        (1, 2),
        By::Tcp(script!("0 s . 1+100 ack 1\n 0 s . 201+100 ack 1\n 2 s . 101+100 ack 1")),
    ),
    (
        "tcp.copies.syn_again",
        (100, 1),
        By::Tcp(script!(
            "0 c S 0+0\n 1000 c S 0+0\n 1000.1 s S 0+0 ack 1\n 1000.3 s S 0+0 ack 1\n 1050 c . 1+0 ack 1"
        )),
    ),
    (
        "tcp.missing.soonest_share",
        (10, 1),
        By::Tcp(script!(
            FAR,
            "110 s . 1+1000 ack 1 ident 1\n 110.1 c . 1+0 ack 1001\n 111 s . 1001+1000 ack 1 ident 2\n",
            "111.1 c . 1+0 ack 2001\n 112 s . 2001+1000 ack 1 ident 3\n 112.1 c . 1+0 ack 3001\n",
            "500 s . 3001+1000 ack 1 ident 5\n 500.1 c . 1+0 ack 4001"
        )),
    ),
    (
        "tcp.need.patience_rtts",
        (1, 3),
        By::Tcp(script!(
            "0 c S 0+0 sackok\n 0.1 s S 0+0 ack 1 sackok\n 300 c . 1+0 ack 1\n 310 s . 1+1000 ack 1\n",
            "610 c . 1+0 ack 1001\n 610 s . 1001+1000 ack 1\n 1600 s . 1001+1000 ack 1\n 1700 c . 1+0 ack 2001\n",
            "2390 c . 1+0 ack 2001\n 2400 c . 1+0 ack 2001 sack 1001-2001"
        )),
    ),
    (
        "tcp.need.patience",
        (1, 2),
        By::Tcp(script!(
            "0 c S 0+0 sackok\n 0.1 s S 0+0 ack 1 sackok\n 50 c . 1+0 ack 1\n",
            FOUR,
            "410 s . 1001+1000 ack 1\n 411 c . 1+0 ack 4001\n 705 c . 1+0 ack 4001\n",
            "711 c . 1+0 ack 4001 sack 1001-2001"
        )),
    ),
    (
        "tcp.need.early_share",
        (1, 2),
        By::Tcp(script!(
            NEAR,
            FOUR,
            "111 c . 1+0 ack 1001\n 112 c . 1+0 ack 1001\n 113 c . 1+0 ack 1001\n",
            "113.01 s . 1001+1000 ack 1\n 133 c . 1+0 ack 4001"
        )),
    ),
    (
        "tcp.counts.linger",
        (1, 2),
        By::Tcp(script!(
            NEAR,
            "60 c R 1+0\n 99000 c2 S 0+0\n 99001 s2 S 0+0 ack 1\n 99002 c2 . 1+0 ack 1\n 100000 c . 1+0 ack 1"
        )),
    ),
    (
        "tcp.counts.idle",
        (2, 1),
        By::Tcp(script!(
            NEAR,
            "60 s . 1+1000 ack 1\n 110 c . 1+0 ack 1001\n 1600 s . 1001+1000 ack 1\n 1650 c . 1+0 ack 2001"
        )),
    ),
    ("tcp.counts.near_receiver", (1, 10), By::Tcp(script!(FAR, DELAYED))),
    ("tcp.counts.delayed_ack", (10, 1), By::Tcp(script!(FAR, DELAYED))),
    (
        "tcp.counts.first_answer_share",
        (1, 10),
        By::Tcp(script!(FAR, "110 s . 1+1000 ack 1\n 110.1 c . 1+0 ack 1001\n 130 s . 1001+1000 ack 1")),
    ),
    (
        "tcp.counts.probing_window",
        (2, 1),
        By::Tcp(script!(
            "0 c S 0+0 sackok ws 0\n 0.1 s S 0+0 ack 1 sackok ws 0 win 29200\n 50 c . 1+0 ack 1\n",
            "60 s . 1+1000 ack 1\n 110 c . 1+0 ack 1001\n 110 s . 1001+1000 ack 1\n 370 s . 1001+1000 ack 1"
        )),
    ),
    ("tcp.prompt.loop_share", (100, 1), By::Capture("linux/lost-retransmission-nosack.client.pcap.gz")),
    ("tcp.far.silence", (4, 1), By::Capture("linux/random-bare.client.pcap.gz")),
    (
        "tcp.far.soonest",
        (4, 1),
        By::Tcp(script!(
            "0 c S 0+0 sackok\n 50 s S 0+0 ack 1 sackok\n 50.1 c . 1+0 ack 1\n",
            "110 s . 1001+1000 ack 1\n 110.1 c . 1+0 ack 1 sack 1001-2001\n",
            "110.2 s . 2001+1000 ack 1\n 110.3 c . 1+0 ack 1 sack 1001-3001\n",
            "110.4 s . 3001+1000 ack 1\n 260 c . 1+0 ack 1 sack 1001-4001\n",
            "290 s . 1+1000 ack 1"
        )),
    ),
    ("tcp.far.stamped_silence", (100, 1), By::Tcp(stamped_silence)),
    ("tcp.far.queues_stamped", (100, 1), By::Capture("hard/backoff.client.pcapng.gz")),
    ("tcp.far.late_share", (100, 1), By::Capture("linux/lost-retransmission-nosack.client.pcap.gz")),
    ("tcp.far.late", (1, 4), By::Capture("linux/random-2ms.client.pcap.gz")),
    ("tcp.far.arrival_error", (9, 10), By::Capture("linux/single-bare.client.pcap.gz")),
    ("tcp.far.arrival_error_stamped", (0, 1), By::Capture("linux/ipv6.client.pcap.gz")),
    ("tcp.far.lost_queues", (9, 10), By::Capture("linux/random-2ms.client.pcap.gz")),
    ("tcp.far.lost_share", (9, 10), By::Capture("linux/timeout-flight.client.pcap.gz")),
    ("tcp.far.pause_gaps", (9, 10), By::Tcp(|| spaced(10, 10, 38))),
    ("tcp.far.gap_growth", (10, 1), By::Tcp(|| spaced(2, 8, 15))),
    (
        "tcp.far.soonest_stamped",
        (1, 2),
        By::Tcp(script!(
            "0 c S 0+0 sackok ts 0/0\n 50 s S 0+0 ack 1 sackok ts 0/0\n 50.1 c . 1+0 ack 1 ts 50/0\n",
            "110 s . 1001+1000 ack 1 ts 60/50\n 110.1 c . 1+0 ack 1 ts 110/0 sack 1001-2001\n",
            "110.2 s . 2001+1000 ack 1 ts 60/50\n 110.3 c . 1+0 ack 1 ts 110/0 sack 1001-3001\n",
            "110.4 s . 3001+1000 ack 1 ts 60/50\n 260 c . 1+0 ack 1 ts 260/0 sack 1001-4001\n",
            "290 s . 1+1000 ack 1 ts 65/50"
        )),
    ),
    (
        "tcp.far.reordering",
        (0, 1),
        By::Tcp(script!(
            "0 c S 0+0 sackok\n 50 s S 0+0 ack 1 sackok\n 50.1 c . 1+0 ack 1\n",
            "110 s . 1001+1000 ack 1\n 110.1 c . 1+0 ack 1 sack 1001-2001\n",
            "110.2 s . 2001+1000 ack 1\n 110.3 c . 1+0 ack 1 sack 1001-3001\n 232 s . 1+1000 ack 1"
        )),
    ),
    ("tcp.far.queues_grown", (1000, 1), By::Capture("hard/backoff.client.pcapng.gz")),
    ("tcp.far.pause", (1000, 1), By::Capture("hard/lost-retransmission.client.pcapng.gz")),
    ("tcp.missing.leaps", (100, 1), By::Capture("linux/timeout-long-bare.client.pcap.gz")),
    (
        "tcp.held.waits",
        (100, 1),
        By::Tcp(|| rounds(&[(1, 50), (2, 50), (4, 50), (8, 50), (16, 50), (32, 50), (32, 50)])),
    ),
    ("tcp.held.flat_rtts", (10, 1), By::Tcp(|| rounds(&[(4, 50); 14]))),
    ("tcp.held.standing_share", (2, 1), By::Tcp(|| rounds(&queued()))),
    ("tcp.held.standing", (100, 1), By::Tcp(|| rounds(&queued()))),
    ("tcp.held.paced_share", (1, 100), By::Tcp(paced)),
    ("tcp.held.gaps_share", (3, 1), By::Tcp(|| rounds(&[(4, 50); 14]))),
    ("tcp.held.deferred_share", (1, 100), By::Tcp(|| format!("{NEAR}{DEFERRED}"))),
    ("tcp.missing.bare", (0, 1), By::Capture("hard/fin-lost.server.pcapng.gz")),
    ("tcp.counts.damaged", (100, 1), By::Capture("hard/damaged.client.pcapng.gz")),
    (
        "tcp.copies.idents",
        (1, 4),
        By::Tcp(script!(
            FAR,
            "110 s . 1+1000 ack 1 ident 2001\n 300 s . 1+1000 ack 1 ident 1\n 310 c . 1+0 ack 1001"
        )),
    ),
    ("tcp.missing.burst_rtts", (9, 10), By::Capture("hard/ends-twice.client.pcapng.gz")),
    ("sctp.place.at_side", (100, 1), By::Capture("usrsctp/thin.receiver.pcap.gz")),
    ("sctp.place.at_side_share", (100, 1), By::Capture("usrsctp/thin.receiver.pcap.gz")),
    ("sctp.place.loop_share", (9, 10), By::Capture("usrsctp/thin.receiver.pcap.gz")),
    ("sctp.timer.min_rto", (9, 10), By::Capture("usrsctp/thin.sender.pcap.gz")),
    ("sctp.timer.shortest", (1, 4), By::Capture("usrsctp/reordering.receiver.pcap.gz")),
    ("sctp.timer.run_share", (9, 10), By::Capture("usrsctp/thin-heavy-loss.sender.pcap.gz")),
    ("sctp.timer.granularity", (9, 10), By::Capture("usrsctp/small-messages.sender.pcap.gz")),
    (
        "sctp.timer.silence",
        (4, 1),
        By::Sctp(
            "0 c init 1\n 100 s initack 1\n 100.1 c cookie\n 200 s cookieack\n 300 c data 1\n 400 s sack 1
             500 c data 2\n 1480 s sack 1\n 1500 c data 2\n 1600 s sack 2",
        ),
    ),
    ("sctp.prompt.at_once", (4, 1), By::Capture("usrsctp/bursts-of-four.receiver.pcap.gz")),
    ("sctp.prompt.loop_share", (1, 2), By::Capture("usrsctp/thin-heavy-loss.receiver.pcap.gz")),
    ("sctp.prompt.reports", (9, 10), By::Capture("usrsctp/thin.receiver.pcap.gz")),
    ("sctp.prompt.few", (9, 10), By::Capture("usrsctp/thin-heavy-loss.receiver.pcap.gz")),
    ("sctp.prompt.few_answers", (2, 1), By::Capture("usrsctp/bursts-of-four.receiver.pcap.gz")),
    ("sctp.prompt.reports_most", (3, 4), By::Sctp(FEWER_THEN_FOUR)),
    ("sctp.copies.idents", (0, 1), By::Sctp(COUNTED)),
    ("sctp.copies.counted", (4, 1), By::Sctp(COUNTED)),
    ("sctp.prompt.latest", (5, 4), By::Capture("usrsctp/thin-heavy-loss.receiver.pcap.gz")),
    ("sctp.need.early_share", (1, 2), By::Capture("usrsctp/bursts-of-four.sender.pcap.gz")),
    ("pair.tolerance", (9, 10), By::Pair("thin-2ms")),
    ("pair.again", (0, 1), By::Pair("duplicated-acks")),
    ("pair.doubled", (0, 1), By::Pair("duplicated-acks")),
    (
        "sctp.timer.unsampled",
        (1, 2),
        By::Sctp("10 c data 1 | ident 1\n 11 c data 3 | ident 9000\n 150 c data 2 | ident 400"),
    ),
    ("sctp.copies.longest", (1, 10), By::Sctp("10 c data 5 | ident 7\n 500 c data 5 | ident 7")),
    ("sctp.copies.at_once", (1, 10), By::Sctp("10 c data 5 | ident 0\n 15 c data 5 | ident 0")),
    (
        "sctp.need.grace",
        (1, 2),
        By::Sctp(
            "10 c data 5 | ident 1\n 600 c data 5 | ident 2\n 650 s sack 5\n 1400 s sack 5\n 1450 s sack 5 dup 5",
        ),
    ),
    (
        "sctp.need.grace_rtts",
        (1, 2),
        By::Sctp(
            "10 c data 5 | ident 1\n 1010 s sack 5\n 1020 c data 6 | ident 2\n 3000 c data 6 | ident 3\n
             3100 s sack 6\n 4500 s sack 6\n 4550 s sack 6 dup 6",
        ),
    ),
    ("sctp.timer.late_share", (9, 10), By::Sctp(REPORTED_ONCE)),
    ("sctp.timer.doublings", (1, 6), By::Sctp(REPORTED_ONCE_LATER)),
    ("sctp.prompt.together", (1, 2), By::Sctp(FOUR_REPORTS)),
    ("sctp.ends.linger", (1, 10), By::LongSctp(|| swept("c data 5", "9 c abort\n 3000 c data 6"))),
    ("sctp.ends.half_open", (1, 2), By::LongSctp(|| swept("c init 5", "9 c init 5\n 400000 c init 5"))),
    (
        "tcp.missing.repair_rtts",
        (1, 2),
        By::Tcp(script!(
            FAR,
            "110 s . 1+1000 ack 1 ident 1\n 110.1 c . 1+0 ack 1001\n 111 s . 1001+1000 ack 1 ident 2\n",
            "111.1 c . 1+0 ack 2001\n 112 s . 2001+1000 ack 1 ident 3\n 112.1 c . 1+0 ack 3001\n",
            "500 s . 2001+1000 ack 1 ident 4\n 500.1 c . 1+0 ack 3001\n",
            "560 s . 3001+1000 ack 1 ident 6\n 560.1 c . 1+0 ack 4001"
        )),
    ),
    (
        "pair.tap",
        (1, 1000),
        By::Story(
            Clock::One,
            "0 c S 100+0 > 10 10.005\n 10 s S 900+0 ack 101 > 10\n 20 c . 101+1000 ack 901 > 10 10.005
             21 c . 1101+1000 ack 901 > 10 10.005\n 22 c . 2101+1000 ack 901 > 10 10.005
             23 c . 3101+1000 ack 901 > 10 10.005\n 34 s . 901+0 ack 4101 > 10",
        ),
    ),
    (
        "pair.tap_numbered",
        (1, 10),
        By::Story(
            Clock::One,
            "0 c S 100+0 ident 1 > 10 13\n 10 s S 900+0 ack 101 ident 50 > 10\n
             20 c . 101+1000 ack 901 ident 2 > 10 13\n 25 c . 1101+1000 ack 901 ident 3 > 10 13
             30 c . 2101+1000 ack 901 ident 4 > 10 13\n 35 c . 3101+1000 ack 901 ident 5 > 10 13
             50 s . 901+0 ack 4101 ident 51 > 10",
        ),
    ),
    (
        "pair.patience",
        (1, 10),
        By::Story(
            Clock::One,
            "0 c S 100+0 > 10\n 10 s S 900+0 ack 101 > 10\n 20 c . 101+1000 ack 901 > 10
             40 s . 901+0 ack 1101 > lost\n 43 s . 901+0 ack 1101 > 10
             540 s . 901+0 ack 1101 > unsent 10
             600 c . 1101+1000 ack 901 > 10\n 611 s . 901+0 ack 2101 > 10",
        ),
    ),
    (
        "pair.slack",
        (10, 1),
        By::Story(
            Clock::One,
            "0 c S 100+0 > 10\n 10 s S 900+0 ack 101 > 10\n 20 c . 101+1000 ack 901 > 10
             85 s . 901+0 ack 1101 > unsent 10\n 100 s . 901+0 ack 1101 > lost
             103 s . 901+0 ack 1101 > 10
             600 c . 1101+1000 ack 901 > 10\n 611 s . 901+0 ack 2101 > 10",
        ),
    ),
    (
        "pair.resolution",
        (100_000, 1),
        By::Story(Clock::Two, "0 c S 100+0 > 10\n 10 s S 900+0 ack 101 > 10\n 20 c . 101+0 ack 901 > 10"),
    ),
    ("pair.under_way", (1, 1000), By::Story(Clock::Two, SET)),
    ("pair.beyond_ways", (2, 1), By::Story(Clock::One, ANSWERED_SOON)),
    ("pair.answer", (1, 2), By::Story(Clock::One, UNANSWERED)),
    ("pair.at_receiver_share", (1, 2), By::Story(Clock::Two, FAR_UNANSWERED)),
];

#[test]
fn an_answer_changes_when_a_threshold_moves() {
    let same = HELD
        .iter()
        .filter(|(name, times, by)| by.answer(&Policy::STANDARD) == by.answer(moved(name, *times)));
    let same: Vec<_> = same.map(|(name, ..)| name).collect();
    assert!(same.is_empty(), "nothing changes: {same:?}");
}

#[test]
fn every_threshold_is_held() {
    let mut told: Vec<_> = HELD.iter().map(|(name, ..)| *name).collect();
    let mut all: Vec<_> = Policy::STANDARD.thresholds().map(|threshold| threshold.name).collect();
    told.sort_unstable();
    all.sort_unstable();
    assert_eq!(told, all);
}

#[test]
fn every_threshold_has_a_source() {
    for threshold in Policy::STANDARD.thresholds() {
        let source = threshold.source;
        let named = ["RFC ", "Linux ", "pcap ", "inferred: "].iter().any(|start| source.starts_with(start));
        assert!(named, "{}: {source}", threshold.name);
    }
}
