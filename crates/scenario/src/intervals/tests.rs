use super::*;
use rexmit_network::two_hosts::{CLIENT, SERVER};
use rexmit_network::{ConnectionId, HostId};

fn sender(connection: u32, host: HostId) -> (ConnectionId, HostCell) {
    (ConnectionId::new(connection), HostCell::of_two(host))
}

fn s(n: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(n)
}

fn tally(written: u64, delivered: u64, segments: u64) -> Tally {
    let counters =
        ToldCounters { data_segments: segments, timeouts: Some(segments / 10), ..ToldCounters::default() };
    Tally { written, delivered, counters }
}

fn state(cwnd: u64, srtt_ms: Option<u64>) -> Snapshot {
    Snapshot { cwnd, srtt: srtt_ms.map(Duration::from_millis), ..Snapshot::default() }
}

#[test]
fn text_is_an_interval_or_a_list_of_spans() {
    for text in ["5 s", "250 ms", "0 s-150 s, 150 s-270 s", "1 s-2 s"] {
        let read: Intervals = text.parse().unwrap();
        assert_eq!(read.to_string().parse(), Ok(read), "{text}");
    }
    for text in ["", "5", "0 s", "1 ns", "2 s-1 s", "1 s-1 s", "1 s-", "1 s-2 s,", "a-b"] {
        let error = text.parse::<Intervals>().unwrap_err();
        assert!(error.contains("allowed:"), "{text}: {error}");
    }
}

#[test]
fn one_follows_the_other_and_the_last_ends_with_the_run() {
    let mut log = IntervalLog::new(&"5 s".parse().unwrap(), vec![sender(0, SERVER)]);
    assert_eq!(log.due(), s(0));
    log.pass(s(0), &[tally(0, 0, 0)]);
    assert_eq!(log.due(), s(5));
    // Nothing happened from 3 s to 11 s: two boundaries at once, the second interval is empty.
    log.pass(s(11), &[tally(3000, 2000, 20)]);
    let rows = log.finish(s(12), &[tally(4000, 4000, 31)]);
    let found: Vec<_> = rows
        .iter()
        .map(|r| (r.interval, r.from_ns / 1_000_000_000, r.to_ns / 1_000_000_000, r.bytes, r.written))
        .collect();
    assert_eq!(found, [(0, 0, 5, 2000, 3000), (1, 5, 10, 0, 0), (2, 10, 12, 2000, 1000)]);
    assert_eq!(
        rows.iter().map(|r| (r.data_segments, r.timeouts)).collect::<Vec<_>>(),
        [(20, Some(2)), (0, Some(0)), (11, Some(1))]
    );
}

#[test]
fn spans_may_overlap_and_need_not_be_in_order() {
    let mut log =
        IntervalLog::new(&"4 s-8 s, 0 s-6 s".parse().unwrap(), vec![sender(0, SERVER), sender(1, CLIENT)]);
    log.pass(s(0), &[tally(0, 0, 0), tally(0, 0, 0)]);
    log.pass(s(4), &[tally(4, 4, 0), tally(40, 40, 0)]);
    log.pass(s(6), &[tally(6, 6, 0), tally(60, 60, 0)]);
    log.pass(s(8), &[tally(8, 8, 0), tally(80, 80, 0)]);
    assert_eq!(log.due(), Instant::FAR_FUTURE);
    let rows = log.finish(s(9), &[tally(9, 9, 0), tally(90, 90, 0)]);
    let found: Vec<_> = rows.iter().map(|r| (r.interval, r.connection, r.host.name(), r.bytes)).collect();
    assert_eq!(found, [(0, 0, "server", 4), (0, 1, "client", 40), (1, 0, "server", 6), (1, 1, "client", 60)]);
}

#[test]
fn a_span_beyond_the_end_ends_with_the_run_or_is_not_there() {
    let mut log = IntervalLog::new(&"1 s-100 s, 50 s-60 s".parse().unwrap(), vec![sender(0, SERVER)]);
    log.pass(s(1), &[tally(1, 1, 0)]);
    let rows = log.finish(s(7), &[tally(9, 9, 0)]);
    assert_eq!(
        rows.iter().map(|r| (r.interval, r.to_ns, r.bytes)).collect::<Vec<_>>(),
        [(0, 7_000_000_000, 8)]
    );
}

#[test]
fn means_are_over_writes_by_their_bytes() {
    let mut log = IntervalLog::new(&"10 s".parse().unwrap(), vec![sender(0, SERVER)]);
    log.pass(s(0), &[tally(0, 0, 0)]);
    log.wrote(0, 1000, &state(10_000, None));
    log.wrote(0, 1000, &state(20_000, Some(100)));
    log.wrote(0, 2000, &state(40_000, Some(200)));
    let rows = log.finish(s(3), &[tally(4000, 0, 0)]);
    assert_eq!(rows[0].cwnd_mean, Some(27_500.0));
    assert_eq!(rows[0].cwnd_max, Some(40_000));
    // 100 ms once and 200 ms twice, by weight.
    let mean = 500e6 / 3.0;
    assert!((rows[0].srtt_mean_ns.unwrap() - mean).abs() < 1e-3);
    let deviation = (((100e6 - mean).powi(2) + 2.0 * (200e6 - mean).powi(2)) / 3.0).sqrt();
    assert!((rows[0].srtt_sd_ns.unwrap() - deviation).abs() < 1e-3);
}

#[test]
fn without_a_write_there_is_no_mean_and_what_a_kernel_does_not_tell_is_not_known() {
    let mut log = IntervalLog::new(&"10 s".parse().unwrap(), vec![sender(0, SERVER)]);
    let unknown = ToldCounters::default();
    log.pass(s(0), &[Tally::default()]);
    let rows = log.finish(s(3), &[Tally { counters: unknown, ..Tally::default() }]);
    assert_eq!((rows[0].cwnd_mean, rows[0].cwnd_max, rows[0].srtt_mean_ns), (None, None, None));
    assert_eq!((rows[0].timeouts, rows[0].fast_retransmits), (None, None));
}
