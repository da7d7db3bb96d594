use crate::script::play_one;
use crate::{Column, Values};

const SCRIPT: &str = "
    0 c S 100+0 win 60000 sackok
    5 s S 900+0 ack 101 sackok
    10 c . 101+0 ack 901
    11 s P 901+10 ack 101 # dropped by \"pattern\"
    12 s . 911+10 ack 101
    13 c . 101+0 ack 901 sack 911-921";

fn column(name: &str) -> Column {
    let mut found = play_one(SCRIPT).columns().into_iter().filter(|column| column.name == name);
    found.next().expect("the column")
}

#[test]
fn columns_of_one_table_have_as_many_rows() {
    let columns = play_one(SCRIPT).columns();
    for (table, rows) in [
        ("client.segments.", 3),
        ("client.acks.", 3),
        ("client.sacks.", 0),
        ("server.segments.", 3),
        ("server.acks.", 2),
        ("server.sacks.", 1),
    ] {
        let of_table: Vec<_> = columns.iter().filter(|column| column.name.starts_with(table)).collect();
        assert!(of_table.len() >= 5, "{table}");
        for column in of_table {
            assert_eq!(column.values.len(), rows, "{}", column.name);
        }
    }
}

#[test]
fn bytes_are_little_endian_in_the_order_of_the_rows() {
    let seq = column("server.segments.seq").values;
    assert_eq!(seq.dtype(), "<i8");
    assert_eq!(seq.into_bytes(), [0_i64, 1, 11].map(i64::to_le_bytes).concat());
    let time = column("server.segments.time_ns").values;
    assert_eq!(time.dtype(), "<u8");
    assert_eq!(time.into_bytes(), [5_000_000_u64, 11_000_000, 12_000_000].map(u64::to_le_bytes).concat());
}

#[test]
fn notes_are_json() {
    let note = column("server.segments.note").values;
    assert_eq!(note.dtype(), "utf8-json");
    assert_eq!(note.into_bytes(), br#"[null,"dropped by \"pattern\"",null]"#);
    assert_eq!(column("server.acks.note").values, Values::Text(vec![None, None]));
}

#[test]
fn the_rest_is_a_json_object() {
    let meta: serde_json::Value = serde_json::from_str(&play_one(SCRIPT).meta_json()).expect("JSON");
    assert_eq!(meta["client"]["address"], "10.0.1.1:40000");
    assert_eq!(meta["server"]["bytes"], 20);
    assert_eq!(meta["opened"], true);
    assert_eq!(meta["end_ns"], 13_000_000);
    assert_eq!(meta["server"]["window_shift"], serde_json::Value::Null);
}
