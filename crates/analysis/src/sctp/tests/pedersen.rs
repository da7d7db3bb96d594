//! What pedersen-2006 shows of sctp_trace: figures 3.9 and 3.10, packet by packet.

use super::super::script::{judged, play};

/// Puts the handshake of a sender-side capture with an RTT of 104 ms in front.
fn with_handshake(initial: u32, script: &str) -> String {
    format!(
        "0 c init {initial}
        104 s initack 1
        104.1 c cookie
        208 s cookieack
        {script}"
    )
}

/// Figure 3.10: a timeout that bundles a chunk in flight, a fast retransmit of the same chunk by four more SACKs, and
/// the timer again, 1000 ms after the first expiry and 145 ms after the fast retransmit.
#[test]
fn figure_3_10() {
    let script = with_handshake(
        1006,
        "263949.4 c data 1006
        264205.476 c data 1007
        264248.117 s sack 1006
        264461.498 c data 1008
        264564.135 s sack 1006 1008-1008
        264717.514 c data 1009
        264820.146 s sack 1006 1008-1009
        264973.525 c data 1010
        265076.161 s sack 1006 1008-1010
        265229.542 c data 1011
        265245.495 c data 1007; data 1011
        265332.177 s sack 1006 1008-1011
        265485.554 c data 1012
        265588.184 s sack 1006 1008-1012
        265741.571 c data 1013
        265844.202 s sack 1006 1008-1013
        265997.585 c data 1014
        266100.212 s sack 1006 1008-1014
        266100.284 c data 1007
        266245.564 c data 1007
        266253.583 c data 1015
        266509.618 c data 1016
        266552.232 s sack 1015",
    );
    let rows = play(&script);
    assert_eq!(
        judged(&rows),
        [
            // Three reports had come by then, as many as RFC 9260 takes.
            "15 1 r1 timeout timeout likely",
            "15 5 r1 bundled-in-flight bundled-in-flight likely",
            "23 1 r2 fast fast likely",
            "24 1 r3 timeout timeout certain",
        ]
    );
    let delays = |at: usize| {
        let row = &rows.retransmissions[at];
        (row.delay_first.unwrap(), row.delay_previous.unwrap())
    };
    // "R1 1007 (1040.019ms)", "R1 1011 (15.953)", "R2 1007 (1894.808ms)", "R3 1007 (2040.088ms)".
    assert_eq!(delays(0), (1_040_019_000, 1_040_019_000));
    assert_eq!(delays(1), (15_953_000, 15_953_000));
    assert_eq!(delays(2), (1_894_808_000, 854_789_000));
    assert_eq!(delays(3), (2_040_088_000, 145_280_000));
}

/// Figure 3.9: the same chunk four times by missing reports, the last three within 0.1 ms. Packets stand in the order of
/// the capture, whose times of SACKs are up to 0.4 ms earlier than those of the packets in front of them.
#[test]
fn figure_3_9() {
    let script = with_handshake(
        6344,
        "87467.256 c data 6344
        87467.275 c data 6345
        87467.298 c data 6346
        87467.312 c data 6347
        87467.338 c data 6348
        87467.537 c data 6349
        87467.581 c data 6350
        87468.400 c data 6351
        87571.009 c data 6352
        87571.027 c data 6353
        87571.076 c data 6354
        87571.090 c data 6355
        87571.113 c data 6356
        87571.126 c data 6357
        87571.148 c data 6358
        87571.161 c data 6359
        87571.184 c data 6360
        87571.198 c data 6361
        87570.948 s sack 6343 6345-6345
        87571.221 c data 6362
        87571.235 c data 6363
        87570.969 s sack 6343 6345-6346
        87571.255 c data 6364
        87570.975 s sack 6343 6345-6347
        87571.273 c data 6365
        87570.999 s sack 6343 6345-6348
        87571.294 c data 6344
        87571.005 s sack 6343 6345-6349
        87571.041 s sack 6343 6345-6350
        87674.900 s sack 6343 6345-6352
        87674.906 s sack 6343 6345-6353
        87675.173 c data 6344
        87674.910 s sack 6343 6345-6354
        87674.927 s sack 6343 6345-6355
        87674.931 s sack 6343 6345-6356
        87674.954 s sack 6343 6345-6357
        87675.228 c data 6344
        87674.959 s sack 6343 6345-6358
        87674.978 s sack 6343 6345-6359
        87674.983 s sack 6343 6345-6360
        87675.006 s sack 6343 6345-6361
        87675.274 c data 6344
        87700 s sack 6365 dup 6344,6344",
    );
    let rows = play(&script);
    let lines: Vec<String> =
        judged(&rows).iter().map(|line| line.split_once(' ').unwrap().1.into()).collect();
    assert_eq!(lines.len(), 4);
    for (at, line) in lines.iter().enumerate() {
        let cause = if at == 0 { "fast" } else { "fast-again" };
        assert!(line.starts_with(&format!("0 r{} fast {cause} ", at + 1)), "{line}");
        assert_eq!(
            (rows.retransmissions[at].class_reports, rows.retransmissions[at].evidence.strikes),
            (4, 4)
        );
    }
    let delays: Vec<u64> = rows.retransmissions.iter().map(|row| row.delay_first.unwrap() / 1_000).collect();
    assert_eq!(delays, [104_038, 207_917, 207_972, 208_018]);
}
