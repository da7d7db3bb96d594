//! What was dropped, by what: the row, the log of verdicts and the counters say the same.

use std::collections::BTreeMap;

use rexmit_network::two_hosts::{DOWN, UP, link_name};
use rexmit_network::{ConnectionId, LinkId};
use rexmit_sim::{Row, tables};
use serde_json::{Value, json};

use crate::common::{hurtig, run_once};

/// Packets dropped, by direction and by what, as the columns of the row have them.
fn columns(row: &Row) -> BTreeMap<(String, String), u64> {
    let table = tables::runs(0, 1, std::slice::from_ref(row));
    let named = table.columns.iter().filter_map(|column| {
        let (way, by) = column.name.strip_prefix("drops_")?.split_once('_')?;
        Some(((way.to_owned(), by.to_owned()), column.values()[0].as_u64()?))
    });
    named.collect()
}

#[test]
fn drops_by_reason_are_those_of_the_log_and_sum_up_to_all() {
    let paths: [(&str, Value); 5] = [
        (
            "pattern",
            json!({ "rate": "1 Mbit/s", "delay": "10 ms", "down": { "drop": "4,7" }, "up": { "drop": 3 } }),
        ),
        ("random", json!({ "rate": "1 Mbit/s", "delay": "10 ms", "loss": "10 %" })),
        ("queue", json!({ "rate": "100 kbit/s", "delay": "10 ms", "queue": "3 packets" })),
        (
            "aqm",
            json!({ "rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets", "down": { "aqm": { "codel": { "target": "1 ms", "interval": "5 ms" } } } }),
        ),
        (
            "pattern",
            json!({ "rate": "1 Mbit/s", "delay": "10 ms", "drop": "5", "loss": "5 %", "queue": "2 packets" }),
        ),
    ];
    for (expected, path) in paths {
        let mut scenario = hurtig("1 Mbit/s", "10 ms", 0);
        scenario["path"] = path;
        scenario["transfers"] = json!([{ "from": "server", "to": "client", "writes": "60 x 2500 bytes" }]);
        scenario["limit"] = json!("300 s");
        let outcome = run_once(scenario);
        let found = columns(&outcome.row);
        assert_eq!(found.len(), 8, "{found:?}");
        let mut logged: BTreeMap<_, u64> = found.keys().map(|key| (key.clone(), 0)).collect();
        for row in &outcome.verdicts {
            let verdict = row.row.verdict;
            if verdict.is_drop() {
                let by = verdict.by().unwrap().name().to_owned();
                *logged.get_mut(&(link_name(row.link).to_owned(), by)).unwrap() += 1;
            }
        }
        assert_eq!(found, logged, "{expected}");
        let sum = |way| found.iter().filter(|((w, _), _)| w == way).map(|(_, n)| n).sum::<u64>();
        assert_eq!(
            (sum("down"), sum("up")),
            (outcome.row.drops_down.unwrap(), outcome.row.drops_up.unwrap()),
            "{expected}"
        );
        assert!(found.iter().any(|((_, by), &n)| by == expected && n > 0), "{expected}: {found:?}");
    }
}

#[test]
fn a_verdict_names_the_connection_of_its_packet() {
    let mut scenario = hurtig("1 Mbit/s", "10 ms", 9);
    let transfer = |from: &str, to: &str, bytes: &str| json!({ "from": from, "to": to, "writes": bytes });
    scenario["transfers"] =
        json!([transfer("server", "client", "9000 bytes"), transfer("client", "server", "7000 bytes")]);
    let outcome = run_once(scenario);
    let data = |connection: u32, link: LinkId| -> u64 {
        let connection = Some(ConnectionId::new(connection));
        let own = |row: &&rexmit_sim::VerdictRow| {
            row.connection == connection && row.link == link && !row.row.verdict.is_drop()
        };
        outcome.verdicts.iter().filter(own).map(|row| u64::from(row.row.packet.payload)).sum()
    };
    assert!(outcome.verdicts.iter().all(|row| row.connection.is_some()));
    assert_eq!((data(0, DOWN), data(0, UP)), (9000, 0));
    assert_eq!((data(1, DOWN), data(1, UP)), (0, 7000));
}
