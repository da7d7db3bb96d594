//! Whatever the channel does, each byte arrives once and in order, and both ends come to an end.

mod common;
#[path = "../../stack/test-support/harmful_channel.rs"]
mod harmful_channel;

use std::sync::Arc;

use common::pair::{App, CLIENT, Pair, SERVER, Setup};
use common::{freebsd, profile};
use harmful_channel::{Harm, channel, harm};
use proptest::prelude::*;
use rexmit_network::ByHost;
use rexmit_network::two_hosts::{by_host, host_name, server_and_client};
use rexmit_tcp::Profile;
use rexmit_units::Duration;
use serde_json::{Value, json};

/// Changes of a profile, each of which turns one thing.
const VARIANTS: &[&str] = &[
    "{}",
    "{}",
    r#"{"congestion":{"algorithm":"cubic"}}"#,
    r#"{"options":{"sack":false}}"#,
    r#"{"options":{"sack":false},"recovery":{"plain":"reno"}}"#,
    r#"{"options":{"timestamps":false}}"#,
    r#"{"options":{"window_scaling":false}}"#,
    r#"{"options":{"sack":false,"timestamps":false,"window_scaling":false}}"#,
    r#"{"options":{"dsack":true}}"#,
    r#"{"buffers":{"send":"4096 bytes","receive":"4096 bytes"}}"#,
    r#"{"buffers":{"send":"1000 bytes","receive":"700 bytes"}}"#,
    r#"{"buffers":{"receive":"262144 bytes","send":"262144 bytes"}}"#,
    r#"{"buffers":{"reassembly_limit":2}}"#,
    r#"{"delayed_ack":{"policy":"immediate"}}"#,
    r#"{"congestion":{"inflight":{"on":true,"rtt_threshold":"0 s"}}}"#,
    r#"{"recovery":{"bsd_pipe":"una","partial_ack_uncapped":true}}"#,
    r#"{"buffers":{"send_growth":{"step":"4096 bytes","most":"65536 bytes"}}}"#,
    r#"{"recovery":{"reduction_undo":true,"halving_floor":"half-ssthresh"}}"#,
    r#"{"delayed_ack":{"policy":"every-second"}}"#,
    r#"{"delayed_ack":{"policy":"quick-ack","quick_credit":4}}"#,
    r#"{"output":{"nagle":"off"}}"#,
    r#"{"output":{"nagle":"minshall"}}"#,
    r#"{"recovery":{"sack_entry_guard":true,"exit":"rfc6582"}}"#,
    r#"{"recovery":{"limited_transmit":0,"exit":"ssthresh","bad_retransmit_undo":false}}"#,
    r#"{"recovery":{"changed_window_is_no_duplicate":false,"partial_ack_answers":false}}"#,
    r#"{"recovery":{"forget_sack_at_timeout":true,"ssthresh_once_per_segment":true}}"#,
    r#"{"recovery":{"fack":false},"options":{"dsack":false}}"#,
    r#"{"thin":{"linear_timeouts":true,"fast_retransmit_after":1},"output":{"nagle":"off"}}"#,
    r#"{"recovery":{"early_retransmit":true,"rto_restart":true},"output":{"nagle":"off"}}"#,
    r#"{"recovery":{"tail_probe":true}}"#,
    r#"{"recovery":{"forget_sack_at_timeout":false},"options":{"timestamps":false}}"#,
    r#"{"recovery":{"tail_probe":true,"early_retransmit":true},"initial_window":2,"output":{"nagle":"off"}}"#,
    r#"{"clock":{"tick":"10 ms","timestamp_unit":"10 ms"},"rtt":{"tick":"10 ms"}}"#,
];

/// A profile that comes with rexmit, and what is changed of it.
fn variant() -> impl Strategy<Value = (&'static str, &'static str)> {
    let bases = prop_oneof![3 => Just("freebsd-6.0"), 1 => Just("freebsd-5.4"), 1 => Just("freebsd-7.2"), 1 => Just("rfc-2014"), 3 => Just("rfc"), 1 => Just("linux-2.6.15"), 1 => Just("linux-2.6.9"), 2 => Just("linux-6.1"), 1 => Just("linux-6.1-no-rack")];
    (bases, prop::sample::select(VARIANTS))
}

fn resolve((base, changes): (&str, &str)) -> Arc<Profile> {
    let changes: Value = serde_json::from_str(changes).expect("JSON");
    profile(base, changes)
}

fn app() -> impl Strategy<Value = App> {
    let writes = prop::collection::vec(1u64..40_000, 0..8);
    let reading = prop_oneof![
        3 => Just((u64::MAX, 0u64)),
        1 => (100u64..5_000, 1u64..200),
    ];
    (writes, any::<bool>(), reading).prop_map(|(writes, close_after_peer, (read_size, pause))| App {
        writes,
        close_after_peer,
        read_size,
        read_pause: Duration::from_millis(pause),
    })
}

/// Cases of a property; `PROPTEST_CASES` changes it.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// What must hold at every instant; the first thing that does not.
fn fault(pair: &Pair, profiles: &ByHost<Arc<Profile>>) -> Option<String> {
    for (host, (end, profile)) in pair.ends.iter().map(|(host, end)| (host, (end, &profiles[host]))) {
        let s = rexmit_stack::Endpoint::snapshot(&end.conn);
        let grown = profile.buffers.receive_growth.map_or(0, |g| g.most.0);
        let receive = profile.window.tuning.map_or(profile.buffers.receive, |tuning| tuning.most).0;
        let sent =
            profile.buffers.send_growth.map_or(profile.buffers.send, |g| g.most.max(profile.buffers.send)).0;
        // SYN and FIN take a number each.
        let numbered = s.send_queue + 1 + u64::from(s.state == "SYN-RECEIVED");
        let rules = [
            ("bytes misplaced", end.conn.misplaced_bytes() == 0),
            ("cwnd of 0", s.cwnd > 0),
            ("ssthresh below two segments", s.ssthresh.is_none_or(|ssthresh| ssthresh >= 64)),
            ("more in flight than in the buffer", s.in_flight <= Some(numbered)),
            ("a send buffer beyond its limit", s.send_queue <= sent + 1460),
            ("a receive buffer beyond its limit", s.recv_queue <= Some(receive.max(grown) + 1460)),
        ];
        if let Some((text, _)) = rules.iter().find(|(_, holds)| !holds) {
            return Some(format!("{} at {:?}: {text}: {s:?}", host_name(host), pair.now()));
        }
    }
    None
}

fn run(
    profiles: &ByHost<Arc<Profile>>,
    apps: ByHost<App>,
    harm: &Harm,
    setup: &Setup,
) -> Result<(), TestCaseError> {
    let total: ByHost<u64> = apps.values().map(|app| app.writes.iter().sum()).collect();
    // At least one of the two closes by itself.
    let mut apps = apps;
    if apps.values().all(|a| a.close_after_peer) {
        apps[SERVER].close_after_peer = false;
    }
    let mut pair = Pair::set_up(profiles, &apps, channel(harm), setup);
    // A segment or a window update for each 100 bytes, and as many again for repairs.
    let most = 4_000 + (total.values().sum::<u64>() / 20) as usize;
    let mut wrong = None;
    let finished = pair.run(Duration::from_secs(40_000), most, |p| {
        wrong = fault(p, profiles);
        wrong.is_none()
    });
    let tail = |p: &Pair| {
        let log = p.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    };
    prop_assert!(wrong.is_none(), "{}\n{}", wrong.unwrap_or_default(), tail(&pair));
    prop_assert!(finished, "{} packets and no end at {:?}\n{}", pair.sent.len(), pair.now(), tail(&pair));
    // A server that gives up its SYN-ACK listens again, and the client may not learn of it.
    let deaf = pair.ends[SERVER].conn.state() == rexmit_tcp::State::Listen;
    let given_up = deaf || pair.ends.values().any(|e| e.events.contains(&rexmit_stack::Event::TimedOut));
    if given_up {
        // What was lost too often; the counts still may not be wrong.
        prop_assert!(harm.loss > 0);
    }
    for (me, other) in [(SERVER, CLIENT), (CLIENT, SERVER)] {
        let (a, b) = (&pair.ends[me], &pair.ends[other]);
        prop_assert!(b.read <= a.written);
        if !given_up {
            prop_assert!(a.is_over(), "{:?}\n{}", a.conn.state(), tail(&pair));
            prop_assert_eq!(a.written, total[me], "not all was written\n{}", tail(&pair));
            prop_assert_eq!(b.read, total[me], "not all arrived\n{}", tail(&pair));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(400), failure_persistence: None, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_in_order(
        server in variant(),
        client in variant(),
        server_app in app(),
        client_app in app(),
        harm in harm(),
        both_active in prop::bool::weighted(0.1),
        iss in prop_oneof![Just([1u32, 1]), any::<[u32; 2]>(), (0u32..60_000).prop_map(|n| [0u32.wrapping_sub(n), u32::MAX - n])],
    ) {
        let profiles = server_and_client(resolve(server), resolve(client));
        let iss = server_and_client(iss[0], iss[1]);
        run(&profiles, server_and_client(server_app, client_app), &harm, &Setup { iss, both_active, ..Setup::default() })?;
    }
}

/// A plain transfer through a clean channel, so that a fault of the harness shows by itself.
#[test]
fn a_clean_channel_loses_nothing() {
    let profiles = by_host(|_| freebsd(json!({})));
    let apps = server_and_client(100_000, 50_000).map(|len| App { writes: vec![len], ..App::default() });
    let clean = Harm { seed: 1, loss: 0, duplicate: 0, reorder: 0, delay_ms: 10, harmful: 0 };
    run(&profiles, apps, &clean, &Setup::default()).expect("a clean channel");
}

/// A case that the property found: both ends alike, with these applications.
fn found(profile: impl Fn() -> Arc<Profile>, apps: ByHost<App>, harm: &Harm) {
    let setup = Setup { iss: by_host(|_| 1), ..Setup::default() };
    run(&by_host(|_| profile()), apps, harm, &setup).unwrap_or_else(|e| panic!("{e}"));
}

/// Found by the property above.
#[test]
fn cases_found_before() {
    let h = Harm { seed: 158455680161189778, loss: 29, duplicate: 10, reorder: 3, delay_ms: 74, harmful: 88 };
    let changes = r#"{"recovery":{"forget_sack_at_timeout":true,"ssthresh_once_per_segment":true}}"#;
    let p = || resolve(("freebsd-6.0", changes));
    let server = App { writes: vec![14252, 34324], ..App::default() };
    let client = App {
        writes: vec![12526, 18285],
        read_size: 2921,
        read_pause: Duration::from_millis(12),
        ..App::default()
    };
    found(p, server_and_client(server, client), &h);
}

/// Each ACK carried the FIN again, each FIN ahead of a hole was answered at once: both ends answered each
/// other for ever.
#[test]
fn fins_ahead_of_holes_make_no_storm() {
    let h = Harm { seed: 9127719408917300874, loss: 11, duplicate: 13, reorder: 9, delay_ms: 1, harmful: 70 };
    let p = || resolve(("rfc-2014", r#"{"congestion":{"algorithm":"cubic"}}"#));
    let server = App { writes: vec![1449], ..App::default() };
    let client = App { writes: vec![19_822, 17_322, 19_618], ..App::default() };
    found(p, server_and_client(server, client), &h);
}

/// More than 4 GiB through large segments: every number wraps.
#[test]
fn more_than_all_sequence_numbers() {
    let changes = json!({
        "output": { "nagle": "minshall" },
        "buffers": { "send": "1 MiB", "receive": "1 MiB", "max": "1 MiB" },
    });
    let profiles = by_host(|_| freebsd(changes.clone()));
    let writes = vec![100, 3 << 30, 70, 70, 2 << 30, 70];
    let total: u64 = writes.iter().sum();
    let reader = App { close_after_peer: true, ..App::default() };
    let apps = server_and_client(App { writes, ..App::default() }, reader);
    let setup = Setup { mtu: 60_000, ..Setup::default() };
    let channel = Box::new(|_, _, _, _: &_| vec![Duration::from_millis(1)]);
    let mut pair = Pair::set_up(&profiles, &apps, channel, &setup);
    assert!(pair.run(Duration::from_secs(100), 1_000_000, |_| true));
    assert_eq!(pair.ends[CLIENT].read, total);
    assert_eq!(pair.ends[CLIENT].conn.misplaced_bytes(), 0);
}
