//! What is refused, and what is made of a trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rexmit_units::Instant;

use super::*;

fn survey(text: &str) -> Result<TraceFile, String> {
    TraceFile::survey("x", Arc::new(text.as_bytes().to_vec())).map_err(|e| e.to_string())
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of what is written and what is told")]
fn each_wrong_line_is_named_with_what_to_write() {
    let cases = [
        (
            "",
            "x: is empty: write a line for each opportunity of 1504 bytes, its time in whole ms, or a CSV whose first line \
          is such as time (s),rate (Mbit/s)",
        ),
        (
            "3\n5\n4\n",
            "x: line 3: 4 ms, behind 5 ms in the line before: times must not go back: put the lines in order, as \
          by sort -n",
        ),
        (
            "3\r\n5\r\n",
            "x: line 1: ends with CR LF, and a line of a trace ends with LF alone: write the file anew, as by tr \
          -d '\\r' < OLD > NEW",
        ),
        ("3\n\n5\n", "x: line 2: is empty: remove it, or write a time in whole ms"),
        ("3\n5.5\n", "x: line 2: \"5.5\" is not a time: write whole milliseconds, such as 12"),
        (
            "0\n0\n",
            "x: line 2: every opportunity is at 0 ms, and the last line is also the time after which the trace begins \
          again: give it a time above 0",
        ),
        (
            "time (s),rate (Mbit/s)\n0,0\n1,0\n",
            "x: the rate is 0 in every row, so that no packet ever passes: write a rate \
          above 0 in one of them",
        ),
        (
            "time (s),rate (Mbit/s)\n1,5\n0.5,6\n",
            "x: line 3: 500 ms, after 1 s in the row before: times must not go back: \
          put the rows in order",
        ),
        (
            "time (s),rate (Mbit/s)\n1,5\n1,6\n",
            "x: line 3: 1 s, after 1 s in the row before: each moment has one row: \
          leave one out",
        ),
        (
            "time (s),rate (MB/s)\n0,5\n",
            "x: line 1: the column rate has the unknown unit \"MB/s\": write one of bit/s, \
          kbit/s, Mbit/s, Gbit/s, such as rate (Mbit/s)",
        ),
        (
            "time (s),bandwidth\n0,5\n",
            "x: line 1: unknown column \"bandwidth\": write time, rate, delay or loss, with the \
          unit in brackets, such as rate (Mbit/s)",
        ),
        (
            "time,rate\n0 s,5\n",
            "x: line 2: rate: \"5\" is not a rate: write a number and one of bit/s, kbit/s, Mbit/s, \
          Gbit/s, here or in the header: rate (Mbit/s)",
        ),
        (
            "start\n3\n5\n",
            "x: line 1: \"start\" begins no trace: write a time in whole ms, such as 12, as in all lines of mahimahi's traces, \
          or the header of a CSV, such as time (s),rate (Mbit/s)",
        ),
        (
            "0.5\n3\n",
            "x: line 1: \"0.5\" begins no trace: write a time in whole ms, such as 12, as in all lines of mahimahi's traces, or \
          the header of a CSV, such as time (s),rate (Mbit/s)",
        ),
        (
            "0,10\n1,20\n",
            "x: line 1: \"0,10\" begins no trace: write a time in whole ms, such as 12, as in all lines of mahimahi's traces, \
          or the header of a CSV, such as time (s),rate (Mbit/s)",
        ),
        (
            "# of a lab\n3\n5\n",
            "x: line 2: \"3\" is a time as mahimahi writes it, and mahimahi's lines have no comments before them: remove those, \
          or write a header such as time (s),rate (Mbit/s)",
        ),
        ("rate (Mbit/s),delay (ms)\n5,1\n", "x: line 1: no column is the time: write one, such as time (s)"),
        ("time (s)\n0\n", "x: line 1: the time is the only column: write another, such as rate (Mbit/s)"),
        ("time (s),rate (Mbit/s)\n", "x: has a header and no row: write at least one, such as 0,10"),
        (
            "# nothing\n",
            "x: has comments only: write a header such as time (s),rate (Mbit/s) and rows below it",
        ),
        (
            "time (s),rate (Mbit/s),delay (ms)\n0,5\n",
            "x: line 2: has 2 of 3 cells: write a cell for each column; it may be \
          empty",
        ),
        (
            "time (s),rate (Mbit/s)\n0,5,6\n",
            "x: line 2: has 3 cells for 2 columns: leave out what has no column",
        ),
        (
            "time (s),rate (Mbit/s),delay (ms)\n0,5,\n",
            "x: the column delay has no value in any row: write one, or leave the \
          column out",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(survey(text).expect_err(text), message, "{text:?}");
    }
}

#[test]
fn units_stand_in_the_header_or_in_the_cells() {
    let header = survey("time (s),rate (Mbit/s),delay (ms),loss (%)\n0,10,20,1\n1.5,,30,\n").unwrap();
    let cells =
        survey("# of a lab\nloss,delay,Time,rate\n1 %,20 ms,0 s,10 Mbit/s\n,30 ms,1500 ms,\n").unwrap();
    assert_eq!(header.about(), cells.about());
    assert_eq!(header.about().last, Duration::from_millis(1500));
    assert_eq!(header.about().rate, Some(Span { least: 10_000_000, most: 10_000_000 }));
    assert_eq!(header.about().delay, Some(Span { least: 20_000_000, most: 30_000_000 }));
}

#[test]
fn a_byte_order_mark_before_the_first_line_is_no_part_of_it() {
    for text in
        ["time (s),rate (Mbit/s)\n0,10\n1,20\n", "# of a lab\ntime (s),rate (Mbit/s)\n0,1\n", "3\n5\n"]
    {
        let (plain, marked) = (survey(text).unwrap(), survey(&format!("\u{feff}{text}")).unwrap());
        assert_eq!(plain.about(), marked.about(), "{text:?}");
    }
    // At its end it begins again after the mark.
    let file = survey("\u{feff}3\n5\n").unwrap();
    let mut opportunities = Opportunities::new(&file, true);
    let times = [3, 5, 8, 10].map(|_| {
        let at = opportunities.next();
        opportunities.pass();
        at.as_nanos() / 1_000_000
    });
    assert_eq!(times, [3, 5, 8, 10]);
    let error = survey("3\n\u{feff}5\n").unwrap_err();
    assert!(error.starts_with("x: line 2: ") && error.contains("is not a time"), "{error}");
}

/// Lines that are made as they are read: as long as nobody could hold.
struct Endless {
    lines: u64,
}

impl TraceBytes for Endless {
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize, String> {
        // Each line has 10 bytes.
        let all = (self.lines * 10).saturating_sub(at).min(into.len() as u64) as usize;
        for (byte, at) in into[..all].iter_mut().zip(at..) {
            let (line, place) = (at / 10, at % 10);
            *byte = if place == 9 { b'\n' } else { b'0' + (line / 10u64.pow(8 - place as u32) % 10) as u8 };
        }
        Ok(all)
    }
}

#[test]
fn a_long_trace_is_read_by_pieces() {
    let lines = 3_000_000;
    let file = TraceFile::survey("long", Arc::new(Endless { lines })).unwrap();
    assert_eq!((file.about().lines, file.about().last), (lines, Duration::from_millis(lines - 1)));
    let mut opportunities = Opportunities::new(&file, true);
    let late = rexmit_units::Instant::ZERO + Duration::from_millis(2_999_997);
    opportunities.pass_until(late);
    assert_eq!(opportunities.next(), late + Duration::from_millis(1));
}

#[test]
fn a_line_without_end_is_refused() {
    let error = survey(&"7".repeat(100_000)).unwrap_err();
    assert_eq!(
        error,
        "x: line 1: is longer than 16384 bytes: a trace has short lines of numbers; is it one?"
    );
}

fn whole(mut converter: impl Converter) -> String {
    std::iter::from_fn(|| converter.piece()).collect()
}

#[test]
fn opportunities_become_rates_and_rates_opportunities() {
    // Of 1504 bytes each ms: 12.032 Mbit/s.
    let lines: String = (1..=1000).map(|ms| format!("{ms}\n")).collect();
    let file = survey(&lines).unwrap();
    let csv = whole(IntoCsv::new(&file, Duration::from_millis(1)));
    assert!(csv.starts_with("time (ns),rate (bit/s)\n0,0\n1000000,12032000\n"), "{}", &csv[..60]);
    let again = whole(IntoMahimahi::new(&survey("time (s),rate (bit/s)\n0,12032000\n1,12032000\n").unwrap()));
    assert_eq!(again, lines);
}

#[test]
fn several_opportunities_of_one_nanosecond_are_kept() {
    // Three of 1504 bytes each ns, for 5 ns.
    let file = survey("time (ns),rate (bit/s)\n0,36096000000000\n5,0\n").unwrap();
    assert_eq!(whole(IntoMahimahi::new(&file)), "1\n".repeat(15));
}

#[test]
fn what_is_left_out_is_told() {
    let file = survey("time (s),rate (Mbit/s),delay (ms)\n0,12,5\n1,0,5\n2,0,5\n").unwrap();
    let mut converter = IntoMahimahi::new(&file);
    while converter.piece().is_some() {}
    let told = converter.left_out();
    assert_eq!(told[0], "the column delay is left out: mahimahi's lines say nothing of it");
    assert!(told[1].contains("are left out: nothing passes in them"), "{told:?}");
}

#[test]
fn spans_are_means() {
    let file = survey("time (s),rate (Mbit/s),delay (ms)\n0,10,5\n1,20,\n2,0,10\n4,0,10\n").unwrap();
    let all = bins(&file, Duration::from_millis(1500));
    let bits: Vec<f64> = all.iter().filter_map(|one| one.bits).collect();
    assert_eq!(bits, [20e6, 10e6, 0.0]);
    assert_eq!(all[2].length, 1_000_000_000);
    let opportunities = bins(&survey("1\n1\n2\n4\n").unwrap(), Duration::from_millis(2));
    assert_eq!(opportunities.iter().filter_map(|one| one.bits).collect::<Vec<_>>(), [24064.0, 24064.0]);
}

/// Bytes that count how often they are read.
#[derive(Default)]
struct Counted(Vec<u8>, AtomicU64);

impl TraceBytes for Counted {
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize, String> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.read_at(at, into)
    }
}

#[test]
fn a_change_in_rounds_that_are_alike_is_looked_for_once() {
    let second = |n: u64| Instant::from_nanos(1_000_000_000 * n);
    let ms = |n: u64| Instant::from_nanos(1_000_000 * n);
    let bytes = Arc::new(Counted(b"time (ms),rate (bit/s)\n1,4".to_vec(), AtomicU64::new(0)));
    let file = TraceFile::survey("x", bytes.clone()).expect("a trace");
    let column = Column::new(&file, true, |row| row.rate);
    assert!(column.changes_within(Instant::ZERO, second(100)), "before the first row nothing is said");
    let before = bytes.1.load(Ordering::Relaxed);
    assert!(!column.changes_within(ms(1), second(100_000)));
    assert!(!column.changes_within(second(1), second(100_000)));
    assert!(bytes.1.load(Ordering::Relaxed) - before < 40, "100 million rounds are alike");

    let file = survey("time (ms),rate (bit/s)\n2,4\n5,4\n8,6\n10,6").expect("a trace");
    let column = Column::new(&file, true, |row| row.rate);
    // 6 holds until the first row of the next round, at 12 ms.
    for (after, upto, changes) in
        [(2, 7, false), (2, 8, true), (8, 11, false), (8, 12, true), (12, 17, false)]
    {
        assert_eq!(column.changes_within(ms(after), ms(upto)), changes, "{after} to {upto} ms");
    }
    assert!(column.changes_within(ms(1_003), ms(1_009)));
}
