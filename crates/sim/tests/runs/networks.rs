//! Networks of many hosts: where packets go, what is shared, what is measured, what is refused.

use rexmit_sim::{LinkRow, Resolved, Row, RunOptions, TransferRow};
use serde_json::{Value, json};

use crate::common::{run_once, run_with};

/// Two senders at the left and a sink at the right of a bottleneck of 10 Mbit/s.
fn dumbbell() -> Value {
    let host = |at: &str, delay: &str| json!({ "stack": "linux-6.1", "at": at, "access": { "rate": "100 Mbit/s", "delay": delay } });
    json!({
        "hosts": { "near": host("left", "1 ms"), "far": host("left", "20 ms"), "sink": host("right", "1 ms") },
        "links": {
            "bottleneck": { "between": ["left", "right"], "rate": "10 Mbit/s", "delay": "8 ms", "queue": "50 packets" }
        },
        "transfers": [
            { "name": "short", "from": "near", "to": "sink", "bulk": "10 s" },
            { "name": "long", "from": "far", "to": "sink", "bulk": "10 s" },
        ],
    })
}

fn link<'a>(row: &'a Row, name: &str, from: &str) -> &'a LinkRow {
    row.links.iter().find(|link| link.link == name && link.from_point == from).expect(name)
}

fn transfer<'a>(row: &'a Row, name: &str) -> &'a TransferRow {
    row.transfers.iter().find(|transfer| transfer.transfer == name).expect(name)
}

#[test]
fn two_flows_share_a_bottleneck_and_the_shorter_round_trip_gets_more() {
    let row = run_once(dumbbell()).row;
    assert!(row.completed, "{:?}", row.error);
    let (short, long) = (transfer(&row, "short"), transfer(&row, "long"));
    assert!(short.bytes > long.bytes, "{} {}", short.bytes, long.bytes);
    let shared = link(&row, "bottleneck", "left");
    assert!(shared.utilisation.unwrap() > 0.95, "{:?}", shared.utilisation);
    assert_eq!(
        shared.passed_bytes,
        shared.bytes - dropped_bytes(shared),
        "every packet has 1500 bytes but the first"
    );
    assert!(shared.drops_queue > 0 && shared.drops == shared.drops_queue);
    assert_eq!(shared.queue_packets_max, Some(50.0));
    // Twice the propagation, and no less than what two store-and-forward links take.
    assert!(short.rtt_min_ms.unwrap() >= 20.0 && short.rtt_min_ms.unwrap() < 23.0, "{:?}", short.rtt_min_ms);
    // The longer one may never find the queue empty beside it (nor does it between guests of Linux), but does alone.
    assert!(long.rtt_min_ms.unwrap() >= 58.0, "{:?}", long.rtt_min_ms);
    let mut alone = dumbbell();
    alone["transfers"].as_array_mut().unwrap().remove(0);
    let row = run_once(alone).row;
    let rtt = transfer(&row, "long").rtt_min_ms.unwrap();
    assert!((58.0..62.0).contains(&rtt), "{rtt}");
    let causes = [short.retransmits_fast, short.retransmits_timeout, short.retransmits_probe];
    assert!(causes.into_iter().map(Option::unwrap).sum::<u64>() >= short.retransmits.unwrap());
    assert_eq!((row.packets_down, row.timeouts_server), (None, None));
}

fn dropped_bytes(link: &LinkRow) -> u64 {
    1500 * link.drops
}

/// The same path as one of two hosts: what a single flow does is the same to the nanosecond.
#[test]
fn a_chain_of_links_without_limits_is_the_path_of_two_hosts() {
    let path = json!({ "rate": "2 Mbit/s", "delay": "15 ms", "queue": "8 packets" });
    let transfer = |from: &str, to: &str| json!([{ "from": from, "to": to, "writes": "200 x 2500 bytes" }]);
    let two = json!({
        "hosts": { "server": { "stack": "freebsd-6.0", "tick_phase": "0 s" }, "client": { "stack": "freebsd-6.0", "tick_phase": "0 s" } },
        "path": path,
        "transfers": transfer("server", "client"),
    });
    let mut link = path;
    link["between"] = json!(["a", "b"]);
    let network = json!({
        "hosts": {
            "server": { "stack": "freebsd-6.0", "at": "a", "tick_phase": "0 s", "address": "10.0.2.1" },
            "client": { "stack": "freebsd-6.0", "at": "c", "tick_phase": "0 s", "address": "10.0.1.1" },
        },
        "links": { "one": link, "two": { "between": ["b", "c"] } },
        "transfers": transfer("server", "client"),
    });
    let (two, network) = (run_once(two).row, run_once(network).row);
    let of = |row: &Row| (row.time_ns, row.bytes, row.retransmits, row.deliveries, row.virtual_ns);
    assert_eq!(of(&two), of(&network));
    assert!(two.retransmits > 0);
    assert_eq!(two.drops_down.unwrap(), self::link(&network, "one", "a").drops);
}

#[test]
fn a_group_is_many_hosts_and_runs_repeat() {
    let mut scenario = dumbbell();
    scenario["hosts"]["reader"] = json!({ "stack": "linux-6.1", "at": "right", "count": 12 });
    scenario["hosts"]["writer"] =
        json!({ "stack": "linux-6.1", "at": "left", "count": 12, "access": { "delay": "3 ms" } });
    scenario["transfers"] = json!([
        { "name": "pairs", "from": "writer", "to": "reader", "bulk": "50 kB", "stagger": "10 ms" },
        { "name": "one", "from": "writer", "to": "sink", "bulk": "20 kB" },
        { "name": "named", "from": "writer-7", "to": "reader-12", "bulk": "10 kB" },
    ]);
    let row = run_once(scenario.clone()).row;
    assert!(row.completed, "{:?}", row.error);
    let ends = |name: &str| {
        let of_it = row.transfers.iter().filter(|transfer| transfer.transfer == name);
        of_it.map(|transfer| (transfer.sender.name(), transfer.receiver.name())).collect::<Vec<_>>()
    };
    assert_eq!(ends("pairs")[..2], [("writer-1", "reader-1"), ("writer-2", "reader-2")]);
    assert_eq!(ends("one")[11], ("writer-12", "sink"));
    assert_eq!(ends("named"), [("writer-7", "reader-12")]);
    assert_eq!(run_once(scenario).row, row);
}

/// Three bottlenecks in a row: the flow over all of them gets less than those over one.
#[test]
fn a_parking_lot_gives_the_long_flow_least() {
    let host = |at: &str| json!({ "stack": "linux-6.1", "at": at, "access": { "rate": "1 Gbit/s" } });
    let link = |one: &str, other: &str| json!({ "between": [one, other], "rate": "10 Mbit/s", "delay": "5 ms", "queue": "40 packets" });
    let flow = |from: &str, to: &str| json!({ "name": format!("{from}{to}"), "from": from, "to": to, "bulk": "20 s" });
    let row = run_once(json!({
        "hosts": { "a": host("p0"), "b": host("p1"), "c": host("p2"), "d": host("p3"),
                   "v": host("p0"), "w": host("p1"), "x": host("p2"), "y": host("p3") },
        "links": { "one": link("p0", "p1"), "two": link("p1", "p2"), "three": link("p2", "p3") },
        "transfers": [flow("a", "d"), flow("v", "b"), flow("w", "c"), flow("x", "y")],
    }))
    .row;
    let bytes = |name: &str| transfer(&row, name).bytes;
    for other in ["vb", "wc", "xy"] {
        assert!(bytes("ad") < bytes(other), "{} {}", bytes("ad"), bytes(other));
    }
    for name in ["one", "two", "three"] {
        let point = row.links.iter().find(|link| link.link == name && link.drops > 0);
        assert!(point.is_some_and(|link| link.utilisation.unwrap() > 0.9), "{name}");
    }
}

#[test]
fn impairments_stand_on_any_link_by_the_point_where_it_begins() {
    let mut scenario = dumbbell();
    scenario["links"]["bottleneck"]["from"] = json!({ "right": { "drop": "3" } });
    scenario["hosts"]["near"]["access"]["up"] = json!({ "drop": "5" });
    let row = run_once(scenario).row;
    assert_eq!(link(&row, "bottleneck", "right").drops_pattern, 1);
    assert_eq!(link(&row, "bottleneck", "left").drops_pattern, 0);
    assert_eq!(link(&row, "access", "near").drops_pattern, 1);
    assert_eq!(link(&row, "access", "left").drops_pattern, 0);
}

#[test]
fn flows_that_arrive_at_random_are_the_same_in_every_run_of_a_seed() {
    let mut scenario = dumbbell();
    scenario["transfers"] = json!([
        { "name": "web", "from": "near", "to": "sink",
          "flows": { "count": 60, "every": "exponential 40 ms", "size": "exponential 30 kB" } }
    ]);
    scenario["measure"] = json!({ "every": "500 ms" });
    let row = run_once(scenario.clone()).row;
    assert_eq!(row.transfers.len(), 60);
    assert!(row.transfers.iter().all(|one| one.completed && one.time_ns.is_some()));
    let opened: Vec<_> = row.transfers.iter().map(|one| one.opened_ns.unwrap()).collect();
    assert!(opened.is_sorted() && opened[0] > 0);
    let over_time: u64 = row.transfers_over_time.iter().map(|slice| slice.bytes).sum();
    assert_eq!(over_time, row.bytes);
    let passed: u64 = row
        .links_over_time
        .iter()
        .filter(|slice| slice.from_point == "left")
        .map(|slice| slice.passed_bytes)
        .sum();
    assert_eq!(passed, link(&row, "bottleneck", "left").passed_bytes);
    assert_eq!(run_once(scenario).row, row);
}

/// More connections than there are ports, between two hosts.
#[test]
fn connections_may_share_ports() {
    let scenario = json!({
        "hosts": { "server": { "stack": "linux-6.1" }, "client": { "stack": "linux-6.1" } },
        "path": { "rate": "10 Gbit/s", "delay": "1 ms", "queue": "100000 packets" },
        "transfers": [{ "from": "server", "to": "client", "bulk": "1 kB", "connections": 56_000, "stagger": "10 us" }],
    });
    let row = run_once(scenario).row;
    assert!(row.completed && row.bytes == 56_000_000, "{:?}", row.error);
}

/// To look changes nothing.
#[test]
fn what_is_measured_does_not_change_what_happens() {
    let scenario = |measure: Option<Value>, aqm: &str| {
        let mut scenario = json!({
            "hosts": { "server": { "stack": "linux-6.1" }, "client": { "stack": "linux-6.1" } },
            "path": { "rate": "5 Mbit/s", "delay": "10 ms", "queue": "60 packets", "aqm": aqm },
            "transfers": [{ "from": "server", "to": "client", "bulk": "5 s", "connections": 3 }],
        });
        if let Some(measure) = measure {
            scenario["measure"] = measure;
        }
        scenario
    };
    for aqm in ["none", "codel", "fq-codel", "pie"] {
        let plain = run_once(scenario(None, aqm)).row;
        let measured = run_once(scenario(Some(json!({ "every": "70 ms", "sample": "100 us" })), aqm)).row;
        assert!(plain.links.is_empty() && measured.links.len() == 2);
        let of = |row: &Row| (row.time_ns, row.bytes, row.retransmits, row.drops_down, row.virtual_ns);
        assert_eq!(of(&plain), of(&measured), "{aqm}");
    }
}

#[test]
fn verdicts_and_captures_are_of_each_host_and_link() {
    let options = RunOptions { verdicts: true, captures: true, ..RunOptions::default() };
    let mut scenario = dumbbell();
    scenario["transfers"][0]["bulk"] = json!("40 kB");
    scenario["transfers"][1]["bulk"] = json!("40 kB");
    let outcome = run_with(scenario, &options);
    assert_eq!(outcome.captures.len(), 3);
    assert!(outcome.captures.values().all(|bytes| bytes.len() > 1000));
    let links: std::collections::BTreeSet<_> = outcome.verdicts.iter().map(|row| row.link).collect();
    assert_eq!(links.len(), 8, "one between points, one for each host, both ways");
    assert!(outcome.verdicts.iter().all(|row| row.connection.is_some()));
}

/// Each change of the dumbbell is refused in one line that begins like this.
fn refused<const N: usize>(cases: [(&str, Value, &str); N]) {
    for (key, value, text) in cases {
        let mut scenario = dumbbell();
        rexmit_sim::set(&mut scenario, key, value).unwrap();
        let error = Resolved::from_value(scenario).expect_err(key).to_string();
        assert!(!error.contains('\n'), "{error}");
        assert!(error.starts_with(text), "{key}: {error}");
    }
}

#[test]
fn names_that_results_could_not_tell_apart_are_refused_and_slips_are_told_what_there_is() {
    refused([
        (
            "links.access",
            json!({ "between": ["left", "right"] }),
            "links.access: is what results call the hosts' own links; give the link another name",
        ),
        (
            "links.botleneck",
            json!({ "rate": "1 Mbit/s" }),
            "links.botleneck.between: is missing: name the two points that the link joins, such as [\"left\", \"right\"] \
             (other links: bottleneck)",
        ),
        (
            "hosts.naer",
            json!({ "at": "left" }),
            "hosts.naer: `stack` is missing; name one, such as \"linux-6.1\" (other hosts: far, near, sink)",
        ),
        ("transfers.1.name", json!(""), "transfers.1.name: is empty"),
        ("transfers.1.name", json!("short"), "transfers.1.name: \"short\" is the name of another transfer"),
    ]);
    let mut scenario = dumbbell();
    scenario["transfers"][0].as_object_mut().unwrap().remove("name");
    scenario["transfers"][1]["name"] = json!("0");
    let error = Resolved::from_value(scenario).unwrap_err().to_string();
    assert!(error.starts_with("transfers.1.name: \"0\" is what results call transfer 0"), "{error}");
}

#[test]
fn what_is_no_network_is_refused_in_one_line() {
    let cases: [(&str, Value, &str); 16] = [
        (
            "hosts.near.at",
            json!("lfet"),
            "hosts.near.at: no link leads to the point \"lfet\"; points that links join: \"left\", \"right\"",
        ),
        ("hosts.near.at", Value::Null, "hosts.near.at: is missing: name the point"),
        ("hosts.near.count", json!(0), "hosts.near.count: no host; allowed: at least 1"),
        (
            "hosts.near.alternate_address",
            json!("10.9.9.9"),
            "hosts.near.alternate_address: a host of a network has one address",
        ),
        ("links.bottleneck.between", json!(["left"]), "links.bottleneck.between: names two points"),
        (
            "links.bottleneck.between",
            json!(["left", "left"]),
            "links.bottleneck.between: it leads from \"left\" to itself",
        ),
        ("links.bottleneck.between", json!(["left", "near"]), "links.bottleneck.between: \"near\" is a host"),
        (
            "links.bottleneck.down",
            json!({}),
            "links.bottleneck.down: a link has its directions by the points where they begin",
        ),
        (
            "links.bottleneck.from",
            json!({ "middle": {} }),
            "links.bottleneck.from.middle: unknown point `middle`",
        ),
        (
            "links.bottleneck.from",
            json!({ "left": { "rtae": "1 Mbit/s" } }),
            "links.bottleneck.from.left.rtae: unknown key `rtae`: did you mean `rate`?",
        ),
        (
            "links.more",
            json!({ "between": ["left", "right"] }),
            "links.more: the links bottleneck, more form a loop (left - right - left): leave one of them out",
        ),
        (
            "links.more",
            json!({ "between": ["right", "nowhere"] }),
            "links.more.between: it leads nowhere: no host and no other link is at \"nowhere\"",
        ),
        (
            "links.more",
            json!({ "between": ["east", "west"] }),
            "links.more.between: nothing joins \"east\" with \"left\"",
        ),
        ("links.near", json!({ "between": ["left", "right"] }), "links.near: the name appears twice"),
        ("path", json!({ "rate": "1 Mbit/s" }), "path: a network has `links`"),
        ("transfers.0.to", json!("near"), "transfers.0: `from` and `to` are both \"near\""),
    ];
    refused(cases);
    let mut scenario = dumbbell();
    scenario["hosts"]["near-1"] = json!({ "stack": "linux-6.1", "at": "left" });
    scenario["hosts"]["near"]["count"] = json!(2);
    scenario["transfers"] = json!([{ "from": "far", "to": "sink", "bulk": "1 kB" }]);
    let error = Resolved::from_value(scenario).unwrap_err().to_string();
    assert!(error.starts_with("hosts.near-1: the name appears twice"), "{error}");
}

#[test]
fn a_network_is_written_out_with_defaults_and_runs_the_same() {
    let mut scenario = dumbbell();
    scenario["links"]["bottleneck"]["from"] = json!({ "left": { "drop": "20" } });
    let resolved = Resolved::from_value(scenario.clone()).unwrap();
    let written = resolved.to_value();
    let link = &written["links"]["bottleneck"];
    assert_eq!(link["between"], json!(["left", "right"]));
    assert_eq!(link["shaper"], json!("exact"));
    assert_eq!(link["from"], json!({ "left": { "drop": 20 } }));
    assert!(link.get("down").is_none() && link.get("up").is_none(), "{link}");
    let mut again = scenario.clone();
    again["links"] = written["links"].clone();
    assert_eq!(Resolved::from_value(again.clone()).unwrap().to_value(), written);
    assert_eq!(run_once(again).row.deliveries, run_once(scenario).row.deliveries);
}
