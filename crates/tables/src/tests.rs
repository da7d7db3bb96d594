use std::net::IpAddr;

use rexmit_units::Instant;
use serde_json::json;

use crate::{Block, Cell, Joined, Named, Table, TableRow, Type, row, table};

row! {
    /// A row of every kind of field.
    #[derive(Default)]
    pub struct Sample {
        time_ns: u64 = ns("when it was taken"),
        host: String = plain("who took it"),
        /// A note for whoever reads the code.
        window: Option<u64> = bytes("the window") or "nobody knows",
        note: Option<String> = plain("a note") or "there is none",
        mean: f64 = plain("a mean"),
        sure: bool = plain("whether it is sure"),
    }
    beside {
        /// No column.
        hidden: u32,
    }
}

fn samples() -> Table {
    let first = Sample { host: "a \"b\"\n".into(), window: Some(5), mean: 0.5, ..Sample::default() };
    let second = Sample { time_ns: 3, note: Some("x".into()), sure: true, hidden: 4, ..Sample::default() };
    assert_eq!(second.hidden, 4);
    table("samples", &[first, second], |t| Sample::columns(t, |row| row))
}

#[test]
fn a_row_is_described_once() {
    let column = |name: &str, kind: &str, unit: Option<&str>, meaning: &str, nothing: Option<&str>| json!({ "name": name, "type": kind, "unit": unit, "meaning": meaning, "null": nothing });
    let expected = json!([
        column("time_ns", "<u8", Some("ns"), "when it was taken", None),
        column("host", "utf8-json", None, "who took it", None),
        column("window", "<u8?", Some("bytes"), "the window", Some("nobody knows")),
        column("note", "utf8-json", None, "a note", Some("there is none")),
        column("mean", "<f8", None, "a mean", None),
        column("sure", "|b1", None, "whether it is sure", None),
    ]);
    assert_eq!(samples().description(), expected);
    let empty = table("samples", &[], |t: &mut Block<'_, Sample>| Sample::columns(t, |row| row));
    assert_eq!(empty.description(), expected);
}

#[test]
fn values_are_the_same_as_bytes_and_as_json() {
    let values: Vec<_> = samples().columns.iter().map(|column| column.values()).collect();
    assert_eq!(values[0], [json!(0), json!(3)]);
    assert_eq!(values[1], [json!("a \"b\"\n"), json!("")]);
    assert_eq!(values[2], [json!(5), json!(null)]);
    assert_eq!(values[3], [json!(null), json!("x")]);
    assert_eq!(values[4], [json!(0.5), json!(0.0)]);
    assert_eq!(values[5], [json!(false), json!(true)]);
    let bytes: Vec<_> = samples().columns.into_iter().map(|column| column.into_bytes()).collect();
    assert_eq!(bytes[0], [[0; 8], 3_u64.to_le_bytes()].concat());
    assert_eq!(bytes[1], br#"["a \"b\"\n",""]"#);
    assert_eq!(bytes[2], [5_u64.to_le_bytes(), [0xff; 8]].concat());
    assert_eq!(bytes[3], br#"[null,"x"]"#);
    assert_eq!(bytes[5], [0, 1]);
}

#[test]
fn texts_of_which_there_is_none_are_null() {
    let texts = |values: &[Option<&str>]| {
        table("t", values, |t| t.add("text", "", |text| *text)).columns.remove(0).into_bytes()
    };
    assert_eq!(texts(&[None, None]), b"null");
    assert_eq!(texts(&[]), b"null");
    assert_eq!(texts(&[None, Some("a")]), br#"[null,"a"]"#);
}

#[test]
fn signed_and_narrow_numbers_keep_their_values() {
    let values = |cells: Table| cells.columns[0].values();
    assert_eq!(values(table("t", &[-5_i64], |t| t.add("n", "", |&n| n))), [json!(-5)]);
    assert_eq!(
        values(table("t", &[Some(-5_i64), None], |t| t.add("n", "", |&n| n))),
        [json!(-5), json!(null)]
    );
    assert_eq!(values(table("t", &[7_u16], |t| t.add("n", "", |&n| n))), [json!(7)]);
    assert_eq!(values(table("t", &[7_u8], |t| t.add("n", "", |&n| n))), [json!(7)]);
    assert_eq!(values(table("t", &[Some(0.5), None], |t| t.add("n", "", |&n| n))), [json!(0.5), json!(null)]);
    assert_eq!(values(table("t", &[Instant::from_nanos(9)], |t| t.add("n", "", |&n| n))), [json!(9)]);
    assert_eq!(<Option<u32>>::TYPE, Type::MaybeU64);
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

impl Named for Side {
    const NAMES: &'static [&'static str] = &["left", "right"];

    fn code(&self) -> u8 {
        *self as u8
    }
}

#[test]
fn names_and_lists_are_text() {
    let named = table("t", &[Side::Right, Side::Left], |t| t.add("side", "", |&side| side));
    assert_eq!(named.columns[0].kind.name(), r#"dict:["left","right"]"#);
    assert_eq!(named.columns[0].values(), [json!("right"), json!("left")]);
    let addresses: [IpAddr; 2] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
    let joined = table("t", &[addresses.to_vec(), Vec::new()], |t| t.add("all", "", |list| Joined(list)));
    assert_eq!(joined.columns[0].values(), [json!("10.0.0.1 10.0.0.2"), json!("")]);
}

#[test]
fn every_block_gives_its_rows_to_every_column() {
    let rows: Vec<u32> = (0..1_000).collect();
    let made = table("numbers", &rows, |block| {
        block.add("once", "", |&n| n);
        block.add_to("the_", "twice", "", |&n| u64::from(n) * 2);
    });
    assert!(made.columns.iter().all(|column| column.len == 1_000));
    assert_eq!(made.columns[1].name, "the_twice");
    assert_eq!(made.columns[1].values(), (0..1_000).map(|n| json!(n * 2)).collect::<Vec<_>>());
}
