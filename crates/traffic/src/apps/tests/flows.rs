//! The applications of flows, each on its own connection.

use super::*;
use crate::{Flow, Transfer};

fn transfer(rest: &str) -> Transfer {
    let json = format!(
        r#"{{"from": "server", "to": "client", "start": "1 s", {rest}, "flows": {{"list": "5 ms 100 kB"}}}}"#
    );
    serde_json::from_str::<TransferSpec>(&json).unwrap().resolve().unwrap()
}

fn flow() -> Flow {
    Flow { start: Duration::from_millis(5), size: 100_000 }
}

#[test]
fn a_flow_is_opened_at_its_arrival_after_the_start_of_its_transfer() {
    let (from, to) = transfer(r#""opened_by": "server""#).applications_of(flow());
    assert_eq!((from.poll_timer(), to.poll_timer()), (Some(at(1005)), None));
    let (from, to) = transfer(r#""close": true"#).applications_of(flow());
    assert_eq!((from.poll_timer(), to.poll_timer()), (None, Some(at(1005))));
    assert_eq!(transfer(r#""close": true"#).flow_opened_at(flow()), at(1005));
}

#[test]
fn a_flow_writes_its_bytes_once_and_closes_as_bulk_does() {
    let bulk = TransferSpec::bulk(Side::Server, Bulk::Bytes(Bytes(100_000)));
    let of_flow = transfer(r#""close": true"#).applications_of(flow()).0;
    for mut app in [of_flow, sender(&bulk)] {
        let mut socket = Fake::with_space(1 << 20);
        app.on_event(at(1020), Event::Connected, &mut socket);
        assert_eq!(socket.take(), [Call::Write(65_536), Call::Write(34_464), Call::Close]);
        assert_eq!(app.progress().bytes_written, 100_000);
    }
}

#[test]
fn the_writes_of_a_flow_have_the_write_size() {
    let mut app = transfer(r#""write_size": "60 kB""#).applications_of(flow()).0;
    let mut socket = Fake::with_space(1 << 20);
    app.on_event(at(1020), Event::Connected, &mut socket);
    assert_eq!(socket.take(), [Call::Write(60_000), Call::Write(40_000), Call::Close]);
}

#[test]
fn where_nobody_closes_a_flow_is_whole_with_its_last_byte() {
    let mut app = transfer(r#""close": false"#).applications_of(flow()).1;
    let mut socket = Fake { unread: 99_999, ..Fake::default() };
    app.on_event(at(1030), Event::Readable, &mut socket);
    assert_eq!(app.progress().finished, None);
    socket.unread = 1;
    app.on_event(at(1040), Event::Readable, &mut socket);
    assert_eq!(app.progress().finished, Some(at(1040)));
}
