//! What an observer counts while a run goes on is what an analysis of the run's captures counts.

use crate::common::hurtig;
use rexmit_analysis::repeats::{Repeated, Repeats, Watcher};
use rexmit_analysis::{Options, Run};
use rexmit_capture::Reader;
use rexmit_network::two_hosts::{CLIENT, SERVER, by_host};
use rexmit_network::{ByHost, HostId};
use rexmit_sim::{
    BatchOptions, Observer, Plan, Resolved, RetransmissionRow, RunOptions, Stop, Streams, Watch, run,
    run_observed,
};
use rexmit_units::Instant;
use rexmit_wire::Packet;
use serde_json::{Value, json};
use std::io::Cursor;
use std::sync::mpsc::{Sender, channel};

/// Both hosts' interfaces, all packets.
struct Both(ByHost<Watcher>, Sender<ByHost<Vec<Repeated>>>);

impl Observer for Both {
    fn packet(&mut self, host: HostId, now: Instant, packet: &Packet) {
        self.0[host].packet(now, packet);
    }

    fn finish(self: Box<Self>) -> Vec<RetransmissionRow> {
        self.1.send(self.0.map(Watcher::finish)).unwrap();
        vec![RetransmissionRow { count: 7, ..RetransmissionRow::default() }]
    }
}

fn watched(scenario: &Value) -> ByHost<Vec<Repeated>> {
    let resolved = Resolved::from_value(scenario.clone()).unwrap_or_else(|e| panic!("{e}"));
    let (to, found) = channel();
    let watchers = by_host(|_| Watcher::new(&Options::default()));
    let observer = Box::new(Both(watchers, to));
    let streams = Streams::new(1, "test");
    let row = run_observed(&resolved, &streams, &RunOptions::default(), Some(observer)).unwrap().row;
    assert_eq!(row.retransmissions[0].count, 7, "the observer's rows are the row's");
    found.recv().unwrap()
}

fn captured(scenario: &Value) -> ByHost<Vec<Repeated>> {
    let resolved = Resolved::from_value(scenario.clone()).unwrap_or_else(|e| panic!("{e}"));
    let options = RunOptions { captures: true, ..RunOptions::default() };
    let outcome = run(&resolved, &Streams::new(1, "test"), &options).unwrap();
    outcome.captures.map(|bytes| {
        let reader = Reader::new(Cursor::new(bytes)).unwrap();
        Repeats::of(Run::new(reader, &rexmit_analysis::RunOptions::default()))
    })
}

/// A bulk transfer with losses, damage and reordering on the way, and requests beside it.
fn scenario(stack: &str) -> Value {
    let mut scenario = hurtig("2 Mbit/s", "20 ms", 0);
    for host in ["server", "client"] {
        scenario["hosts"][host]["stack"] = json!(stack);
    }
    scenario["path"]["down"] = json!({ "loss": "5 %", "corrupt": "20,70", "jitter": "3 ms" });
    scenario["path"]["up"] = json!({ "loss": "5 %", "corrupt": "25", "duplicate": 9 });
    scenario["transfers"] = json!([
        { "from": "server", "to": "client", "writes": "400 x 1000 bytes" },
        { "from": "client", "to": "server", "writes": "150 x 1400 bytes", "start": "1 s" },
    ]);
    scenario
}

#[test]
fn an_observer_sees_what_captures_hold() {
    for stack in ["linux-2.6.15", "freebsd-6.0", "linux-6.1", "linux-6.1-no-rack"] {
        let scenario = scenario(stack);
        let found = watched(&scenario);
        let counts = |found: &[Repeated]| found.iter().map(|one| one.counts.count).sum::<u64>();
        assert!(counts(&found[SERVER]) > 5 && counts(&found[CLIENT]) > 1, "{stack}: {found:?}");
        assert_eq!(found, captured(&scenario), "{stack}");
    }
}

/// Gives each run the number of packets at the server's interface.
struct Counting;

struct Packets(u64);

impl Watch for Counting {
    fn begin(&self, resolved: &Resolved, _: &Streams) -> Option<Box<dyn Observer>> {
        resolved.scenario.retransmissions.then(|| Box::new(Packets(0)) as Box<dyn Observer>)
    }
}

impl Observer for Packets {
    fn packet(&mut self, host: HostId, _: Instant, _: &Packet) {
        self.0 += u64::from(host == SERVER);
    }

    fn finish(self: Box<Self>) -> Vec<RetransmissionRow> {
        vec![RetransmissionRow { count: self.0, ..RetransmissionRow::default() }]
    }
}

#[test]
fn every_run_of_a_plan_has_its_own_observer_on_any_number_of_threads() {
    let factors = ["retransmissions", "path.delay"].map(String::from).to_vec();
    let delays = (1..12).map(|n| json!(format!("{n} ms"))).collect();
    let mut base = scenario("rfc-2014");
    base["limit"] = json!("2 s");
    let plan = Plan::new(base, factors, vec![vec![json!(false), json!(true)], delays]).unwrap();
    let run = |jobs| {
        let options = BatchOptions { replications: 2, seed: 3, jobs };
        plan.run_watched(0..u64::MAX, options, &Counting, &Stop::default()).unwrap().rows
    };
    let rows = run(1);
    assert_eq!(rows, run(3));
    let (without, with) = rows.split_at(22);
    assert!(without.iter().all(|row| row.retransmissions.is_empty()));
    for row in with {
        let [counted] = row.retransmissions.as_slice() else { panic!("{row:?}") };
        // What the server sends, and what reaches it.
        assert!(
            counted.count > row.packets_down.unwrap()
                && counted.count < row.packets_down.unwrap() + row.packets_up.unwrap()
        );
    }
}
