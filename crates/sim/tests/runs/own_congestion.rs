//! A congestion control from outside, under every profile of TCP: its windows, and everybody else's recovery.

use std::sync::Arc;

use rexmit_network::HostId;
use rexmit_scenario::{StackProfile, builtin_profiles, resolve_profile};
use rexmit_sim::two_hosts::{CLIENT, SERVER};
use rexmit_sim::{Outcome, OwnCongestion, Resolved, Row, RunOptions, Sampling, Streams, run};
use rexmit_tcp::congestion::Congestion;
use serde_json::json;

#[path = "../../../tcp/tests/own/aimd.rs"]
mod aimd;
#[path = "../../../tcp/tests/own/rate_based.rs"]
mod rate_based;
#[path = "../../../sctp/tests/scripts/rate_based.rs"]
mod sctp_rate_based;
#[path = "../../../stack/tests/toys/rate_based.rs"]
mod toy;

use aimd::Aimd;
use toy::RateBased;

/// A run whose server has this congestion control.
fn run_with(resolved: &Resolved, own: Option<OwnCongestion>) -> Outcome {
    let mut options = RunOptions { state: Some(Sampling::Changes), ..RunOptions::default() };
    if let Some(own) = own {
        options = options.with_congestion(SERVER, own);
    }
    run(resolved, &Streams::new(1, ""), &options).unwrap()
}

/// 200 kB behind a queue of 10 packets, and one loss.
fn transfer(stack: &str, position: u32, own: Option<Congestion>) -> Outcome {
    let scenario = json!({
        "hosts": { "server": { "stack": stack }, "client": { "stack": stack } },
        "path": {
            "rate": "10 Mbit/s", "delay": "20 ms", "queue": "10 packets", "down": { "drop": position },
        },
        "transfers": [{ "from": "server", "to": "client", "writes": "20 x 10000 bytes" }],
    });
    let resolved = Resolved::from_value(scenario).unwrap();
    run_with(&resolved, own.map(OwnCongestion::Tcp))
}

fn profiles() -> impl Iterator<Item = (&'static str, Arc<rexmit_tcp::Profile>)> {
    builtin_profiles().into_iter().filter_map(|(name, _)| match resolve_profile(&json!(name)) {
        Ok(StackProfile::Tcp(profile)) => Some((name, profile)),
        _ => None,
    })
}

/// A profile's own algorithm, given from outside, changes nothing: everything that a connection asks reaches
/// it. Rate halving alone reaches into Reno and BIC for a count of its own (LX-ST-13).
#[test]
fn the_same_algorithm_from_outside_is_the_same() {
    let mut seen = 0;
    for (stack, profile) in profiles().filter(|(stack, _)| !stack.starts_with("linux-2.6")) {
        for position in [0, 1, 12, 40, 147] {
            let own = Congestion::own(Congestion::new(&profile.congestion));
            let (ours, own) = (transfer(stack, position, None), transfer(stack, position, Some(own)));
            assert_eq!((own.row, own.states), (ours.row, ours.states), "{stack} {position}");
        }
        seen += 1;
    }
    assert!(seen >= 5, "{seen}");
}

/// Those that count packets, that halve ACK by ACK and that restore windows take windows of any size.
#[test]
fn every_profile_delivers_with_windows_from_outside() {
    for (stack, _) in profiles() {
        for position in 0..=150 {
            let own = Congestion::own(Aimd::new(310, 875));
            let row = transfer(stack, position, Some(own)).row;
            assert_eq!((row.bytes, row.error), (200_000, None), "{stack} {position}");
        }
    }
}

/// 2 MB over 10 Mbit/s and 40 ms, behind a queue that Reno's slow start overflows.
fn long_transfer(stack: &str, own: Option<Congestion>) -> Outcome {
    let mut buffers = json!({ "send": "1 MiB" });
    if profiles().any(|(name, profile)| name == stack && profile.window.tuning.is_none()) {
        buffers["receive"] = json!("1 MiB");
    }
    let stack = json!({ "inherits": stack, "buffers": buffers });
    let scenario = json!({
        "hosts": { "server": { "stack": stack }, "client": { "stack": stack } },
        "path": { "rate": "10 Mbit/s", "delay": "20 ms", "queue": "80 packets" },
        "transfers": [{ "from": "server", "to": "client", "writes": "2000000 bytes" }],
    });
    let resolved = Resolved::from_value(scenario).unwrap();
    run_with(&resolved, own.map(OwnCongestion::Tcp))
}

/// A controller that goes by the rate of delivery measures the path's, paces at it and loses nothing where Reno does.
#[test]
fn a_controller_by_rate_measures_the_path_and_paces() {
    for stack in ["rfc-2014", "freebsd-6.0", "linux-6.1"] {
        let control = RateBased::new(None);
        let row = long_transfer(stack, Some(Congestion::own(control.clone()))).row;
        assert_eq!((row.completed, row.drops_down.unwrap(), row.timeouts), (true, 0, 0), "{stack}");
        let heard = control.heard.lock().unwrap().clone();
        let fastest = heard.samples.iter().filter_map(|s| s.rate()).max().unwrap();
        // 1448 of 1500 bytes are data; samples at the edges of rounds are a little off.
        let share = fastest.bits_per_second() as f64 / (10e6 * 1448.0 / 1500.0);
        assert!((0.97..1.03).contains(&share), "{stack}: {share}");
        // The last half of the data leaves at the rate of the path, each segment behind the time of the one before.
        for pair in heard.sent[heard.sent.len() / 2..].windows(2) {
            let gap = (pair[1].now - pair[0].now).as_nanos();
            let needed = u64::from(pair[0].len) * 8_000_000_000 / fastest.bits_per_second();
            assert!(gap >= needed, "{stack}: {gap} ns behind {} bytes", pair[0].len);
        }
        let reno = long_transfer(stack, None).row;
        assert!(reno.drops_down.unwrap() > 0, "{stack}");
    }
}

/// 2 MB of messages over the same path, towards the host that the sender is not.
fn associations(from: &str, to: &str) -> Resolved {
    let stack = json!({ "inherits": "rfc9260", "buffers": { "send": "1 MiB", "receive": "1 MiB" } });
    let scenario = json!({
        "hosts": { "server": { "stack": stack }, "client": { "stack": stack } },
        "path": { "rate": "10 Mbit/s", "delay": "20 ms", "queue": "80 packets" },
        "transfers": [{ "from": from, "to": to, "writes": "1400 x 1400 bytes" }],
    });
    Resolved::from_value(scenario).unwrap()
}

// --8<-- [start:sctp]
/// The host's associations go by rate.
fn run_by_rate(resolved: &Resolved, host: HostId, control: &RateBased) -> Row {
    let own = rexmit_sctp::congestion::Congestion::own(control.clone());
    let options = RunOptions::default().with_congestion(host, own);
    run(resolved, &Streams::new(1, ""), &options).unwrap().row
}
// --8<-- [end:sctp]

/// The same of SCTP, for either host: each path has a copy of the controller, which measures it, paces at its rate and
/// loses nothing where RFC 9260's loses.
#[test]
fn a_controller_of_sctp_measures_its_path_and_paces() {
    for (host, from, to) in [(SERVER, "server", "client"), (CLIENT, "client", "server")] {
        let (resolved, control) = (associations(from, to), RateBased::new(None));
        let row = run_by_rate(&resolved, host, &control);
        let drops = |row: &Row| row.drops_down.unwrap() + row.drops_up.unwrap();
        assert_eq!((row.completed, drops(&row), row.timeouts), (true, 0, 0), "{from}");
        let heard = control.heard.lock().unwrap().clone();
        let fastest = heard.samples.iter().filter_map(|s| s.rate()).max().unwrap();
        // 1400 bytes of data with 16 of the chunk, 12 of SCTP and 20 of IP.
        let share = fastest.bits_per_second() as f64 / (10e6 * 1400.0 / 1448.0);
        assert!((0.97..1.03).contains(&share), "{from}: {share}");
        // What the pace is counted from: a packet's chunks leave together, behind the time of those before.
        let last = &heard.sent[heard.sent.len() / 2..];
        for pair in last.windows(2) {
            let gap = (pair[1].now - pair[0].now).as_nanos();
            let needed = u64::from(pair[0].len) * 8_000_000_000 / fastest.bits_per_second();
            assert!(gap >= needed, "{from}: {gap} ns behind {} bytes", pair[0].len);
        }
        let usual = run(&resolved, &Streams::new(1, ""), &RunOptions::default()).unwrap().row;
        assert!(drops(&usual) > 0, "{from}");
    }
}

/// A controller of the other protocol is refused in one line, and so is any of a stack that is not ours.
#[test]
fn a_controller_of_another_protocol_is_refused() {
    let resolved = associations("server", "client");
    let own = Congestion::own(Aimd::new(1000, 500));
    let refused = |resolved: &Resolved, options: &RunOptions| {
        run(resolved, &Streams::new(1, ""), options).expect_err("refused").to_string()
    };
    let error = refused(&resolved, &RunOptions::default().with_congestion(CLIENT, own));
    assert_eq!(
        error,
        "hosts.client.stack: this host speaks SCTP, and the congestion control given to it is one of TCP"
    );
    let scenario = json!({
        "hosts": { "server": { "stack": "rfc-2014" }, "client": { "stack": "rfc-2014" } },
        "path": { "rate": "10 Mbit/s", "delay": "20 ms", "queue": "80 packets" },
        "transfers": [{ "from": "server", "to": "client", "writes": "1 x 1000 bytes" }],
    });
    let own = rexmit_sctp::congestion::Congestion::own(RateBased::new(None));
    let error = refused(
        &Resolved::from_value(scenario).unwrap(),
        &RunOptions::default().with_congestion(SERVER, own),
    );
    assert_eq!(
        error,
        "hosts.server.stack: this host speaks TCP, and the congestion control given to it is one of SCTP"
    );
}

/// Whatever is lost, also what is sent again, the records that are kept for such a controller agree with what is out.
#[test]
fn a_controller_of_sctp_goes_through_losses() {
    for position in 0..60 {
        let again = json!({ "retransmission": { "segment": position + 1, "nth": "1" } });
        let scenario = json!({
            "hosts": { "server": { "stack": "rfc9260" }, "client": { "stack": "rfc9260" } },
            "path": {
                "rate": "10 Mbit/s", "delay": "20 ms", "queue": "80 packets",
                "down": { "drop": [position, position + 3, again], "loss": "5 %" },
            },
            "transfers": [{ "from": "server", "to": "client", "writes": "100 x 1400 bytes" }],
        });
        let control = RateBased::new(None);
        let row = run_by_rate(&Resolved::from_value(scenario).unwrap(), SERVER, &control);
        assert_eq!((row.bytes, row.completed, row.error), (140_000, true, None), "{position}");
        let heard = control.heard.lock().unwrap();
        // All has been delivered once, and been told once.
        assert_eq!(heard.samples.last().map(|sample| sample.total_delivered), Some(140_000), "{position}");
        assert_eq!(heard.samples.iter().map(|s| s.newly_delivered).sum::<u64>(), 140_000, "{position}");
    }
}
