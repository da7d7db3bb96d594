use rexmit_units::Instant;
use rexmit_wire::Flags;

use rexmit_tables::{Named, Type};

use super::{Table, Tables};
use crate::rows::{
    Capabilities, Cause, Confidence, ConnectionRow, Evidence, Handshake, HeldTimes, Kind, Need, Proof,
    RetransmissionRow, Rows, SegmentRow, SideName, SideRow, Spread, Vantage,
};
use crate::sctp::{Control, SctpCause, SctpMethod, SctpRows, SctpRttRow, SctpSackRow, TraceClass, TsnBlock};

fn segment(number: u64, note: Option<&str>) -> SegmentRow {
    SegmentRow {
        connection: 3,
        side: SideName::Server,
        number,
        time: Instant::from_nanos(1_000 + number),
        seq: -5,
        end: 10,
        len: 15,
        flags: Flags::ACK,
        kind: Kind::Reordered,
        transmission: 1,
        outstanding: 99,
        ack: (number > 1).then_some(7),
        window: 1 << 20,
        duplicate: 2,
        urgent: 4,
        damaged: true,
        note: note.map(Into::into),
    }
}

fn retransmission(side: SideName, cause: Cause, need: Need) -> RetransmissionRow {
    RetransmissionRow {
        connection: 3,
        side,
        number: 4,
        time: Instant::from_nanos(5),
        seq: 1,
        end: 2,
        len: 1,
        transmission: 2,
        first_number: None,
        delay_first: Some(6),
        delay_previous: None,
        cause,
        confidence: Confidence::Likely,
        certain: None,
        need,
        proof: Proof::EarlyAck,
        evidence: Evidence::default(),
    }
}

fn side(port: u16) -> SideRow {
    SideRow {
        address: ([10, 0, 0, 1], port).into(),
        offered: Capabilities { mss: Some(1460), ..Capabilities::default() },
        packets: 1,
        pure_acks: 0,
        data_packets: 0,
        wire_data_packets: 0,
        bytes: 0,
        unique_bytes: 0,
        retransmitted_packets: 0,
        retransmitted_bytes: 0,
        reordered_packets: 0,
        copies: 0,
        damaged: 0,
        unseen_bytes: 0,
        first_data: None,
        last_data: None,
        last_acked: None,
        acked_bytes: 0,
        goodput: Some(1.5),
        throughput: None,
        initial_window: 0,
        max_outstanding: 0,
        mean_outstanding: None,
        f_avg: None,
        min_window: None,
        max_window: None,
        zero_windows: 0,
        zero_window_time: 0,
        window_limited_time: 0,
        duplicate_acks: 0,
        sack_acks: 0,
        dsacks: 0,
        packets_per_ack: None,
        ack_delay: Spread::default(),
        ack_timer: None,
        idle_periods: 0,
        idle_time: 0,
        rtt: Spread { count: 2, min: 3.0, ..Spread::default() },
        rtt_timestamps: Spread::default(),
        rtt_sack: Spread::default(),
        ambiguous_retransmitted: 0,
        ambiguous_missing: 0,
        loss_events: 0,
        lost_segments: 0,
        loss_rate: None,
        loss_event_rate: None,
        reneged: 0,
        held: HeldTimes::default(),
    }
}

fn connection() -> ConnectionRow {
    ConnectionRow {
        connection: 3,
        interface: 0,
        start: Instant::from_nanos(1),
        end: Instant::from_nanos(2),
        packets: 9,
        handshake: Handshake::default(),
        vantage: Vantage { client_share: None },
        client: side(1),
        server: side(2),
    }
}

/// Type and bytes of a column.
fn column(tables: &[Table], name: &str, column: &str) -> (String, Vec<u8>) {
    let table = tables.iter().find(|table| table.name == name).unwrap();
    let found = table.columns.iter().find(|found| found.name == column).unwrap();
    (found.kind.name(), found.clone().into_bytes())
}

fn u64s(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn a_value_is_little_endian_and_no_value_has_a_mark() {
    let rows = Rows { segments: vec![segment(1, None), segment(2, None)], ..Rows::default() };
    let tables = Tables::new().take(&rows);
    let get = |name| column(&tables, "segments", name);
    assert_eq!(get("connection"), ("<u4".into(), vec![3, 0, 0, 0, 3, 0, 0, 0]));
    assert_eq!(get("seq"), ("<i8".into(), [(-5_i64).to_le_bytes(); 2].concat()));
    assert_eq!(get("ack"), ("<i8?".into(), [i64::MIN.to_le_bytes(), 7_i64.to_le_bytes()].concat()));
    assert_eq!(u64s(&get("time_ns").1), [1_001, 1_002]);
    assert_eq!(get("urgent"), ("<u2".into(), vec![4, 0, 4, 0]));
    assert_eq!(get("damaged"), ("|b1".into(), vec![1, 1]));
    assert_eq!(get("flags"), ("u1".into(), vec![16, 16]));
}

#[test]
fn names_are_codes_into_a_list() {
    let rows = Rows { segments: vec![segment(1, None)], ..Rows::default() };
    let (kind, bytes) = column(&Tables::new().take(&rows), "segments", "kind");
    let names: Vec<String> = serde_json::from_str(kind.strip_prefix("dict:").unwrap()).unwrap();
    assert_eq!(names[usize::from(bytes[0])], "reordered");
    for cause in [Cause::Syn, Cause::SynAck, Cause::TailProbe, Cause::GoBackN, Cause::Unknown] {
        assert_eq!(Cause::NAMES[usize::from(cause.code())], cause.name());
    }
    for cause in [SctpCause::Fast, SctpCause::BundledInFlight, SctpCause::WithNew, SctpCause::Unknown] {
        assert_eq!(SctpCause::NAMES[usize::from(cause.code())], cause.name());
    }
    for class in [TraceClass::Timeout, TraceClass::BundledMissing, TraceClass::BundledInFlight] {
        assert_eq!(TraceClass::NAMES[usize::from(class.code())], class.name());
    }
    for chunk in [Control::Init, Control::CookieAck, Control::ShutdownComplete] {
        assert_eq!(Control::NAMES[usize::from(chunk.code())], chunk.name());
    }
}

#[test]
fn texts_are_a_json_list_and_null_where_there_is_none() {
    let rows = |notes: &[Option<&str>]| Rows {
        segments: notes.iter().zip(1..).map(|(note, number)| segment(number, *note)).collect(),
        ..Rows::default()
    };
    let get = |notes| column(&Tables::new().take(&rows(notes)), "segments", "note");
    assert_eq!(get(&[None, None]), ("utf8-json".into(), b"null".to_vec()));
    assert_eq!(get(&[None, Some("a \"b\"\n"), None]).1, br#"[null,"a \"b\"\n",null]"#);
    assert_eq!(get(&[]).1, b"null");
}

#[test]
fn tables_without_rows_have_all_columns() {
    let full = Rows {
        connections: vec![connection()],
        segments: vec![segment(1, None)],
        retransmissions: vec![retransmission(SideName::Client, Cause::Fast, Need::Needed)],
        ..Rows::default()
    };
    let names = |rows: &Rows| -> Vec<(String, Type)> {
        let tables = Tables::new().take(rows);
        tables.into_iter().flat_map(|table| table.columns).map(|column| (column.name, column.kind)).collect()
    };
    assert_eq!(names(&full), names(&Rows::default()));
}

#[test]
fn a_connection_counts_its_retransmissions_by_cause() {
    let mut tables = Tables::new();
    let first = vec![
        retransmission(SideName::Server, Cause::Timeout, Need::Spurious),
        retransmission(SideName::Server, Cause::Timeout, Need::Needed),
    ];
    tables.take(&Rows { retransmissions: first, ..Rows::default() });
    let last = vec![retransmission(SideName::Client, Cause::Syn, Need::Unnecessary)];
    let rows = Rows { retransmissions: last, connections: vec![connection()], ..Rows::default() };
    let found = tables.take(&rows);
    let count = |name| u64s(&column(&found, "connections", name).1)[0];
    assert_eq!(
        (count("server_cause_timeout"), count("server_spurious"), count("server_unnecessary")),
        (2, 1, 0)
    );
    assert_eq!((count("client_cause_syn"), count("client_spurious"), count("client_unnecessary")), (1, 0, 1));
    // A later connection of that number would be a different one.
    let again = tables.take(&Rows { connections: vec![connection()], ..Rows::default() });
    assert_eq!(u64s(&column(&again, "connections", "server_cause_timeout").1), [0]);
}

#[test]
fn an_address_is_text() {
    let row = |dst: &str| SctpRttRow {
        association: 1,
        side: SideName::Client,
        number: 2,
        time: Instant::from_nanos(3),
        rtt: 4,
        method: SctpMethod::Sack,
        dst: dst.parse().unwrap(),
        tsn: Some(0),
    };
    let sctp = SctpRows { rtt: vec![row("10.0.0.1"), row("fe80::1")], ..SctpRows::default() };
    let found = Tables::new().take(&Rows { sctp, ..Rows::default() });
    assert_eq!(
        column(&found, "sctp_rtt", "dst"),
        ("utf8-json".into(), br#"["10.0.0.1","fe80::1"]"#.to_vec())
    );
}

#[test]
fn blocks_of_a_sack_are_text() {
    let row = |gaps: &[(i64, i64)], duplicates: &[i64]| SctpSackRow {
        association: 1,
        side: SideName::Server,
        number: 2,
        time: Instant::from_nanos(3),
        cumulative: -1,
        gaps: gaps.iter().map(|&(first, last)| TsnBlock { first, last }).collect(),
        duplicates: duplicates.into(),
        window: 4,
    };
    let sctp =
        SctpRows { sacks: vec![row(&[(1, 2), (4, 4)], &[2, 2]), row(&[], &[])], ..SctpRows::default() };
    let found = Tables::new().take(&Rows { sctp, ..Rows::default() });
    assert_eq!(column(&found, "sctp_sacks", "gaps").1, br#"["1-2 4-4",""]"#);
    assert_eq!(column(&found, "sctp_sacks", "duplicates").1, br#"["2 2",""]"#);
}

#[test]
fn a_distribution_without_samples_has_no_values() {
    let found = Tables::new().take(&Rows { connections: vec![connection()], ..Rows::default() });
    let value = |name| f64::from_le_bytes(column(&found, "connections", name).1.try_into().unwrap());
    assert_eq!(value("client_rtt_min_ns"), 3.0);
    assert!(value("client_rtt_sack_min_ns").is_nan());
    assert_eq!(value("client_goodput_bit_s"), 1.5);
    assert!(value("client_throughput_bit_s").is_nan());
    assert_eq!(column(&found, "connections", "server_address").1, br#"["10.0.0.1:2"]"#);
}
