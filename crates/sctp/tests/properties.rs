//! Whatever the channel does, each message arrives once, whole and in the order of its stream, and both ends come to an
//! end.

mod common;
#[path = "../../stack/test-support/harmful_channel.rs"]
mod harmful_channel;

use std::sync::Arc;

use common::pair::{App, CLIENT, Message, Pair, SERVER, Setup};
use common::profile;
use harmful_channel::{Harm, channel, harm};
use proptest::prelude::*;
use rexmit_network::ByHost;
use rexmit_network::two_hosts::{by_host, host_name, server_and_client};
use rexmit_sctp::{Profile, State};
use rexmit_stack::{Delivery, Endpoint, Event};
use rexmit_units::Duration;
use serde_json::Value;

/// Changes of a profile, each of which turns one thing.
const VARIANTS: &[&str] = &[
    "{}",
    "{}",
    r#"{"association":{"interleaving":true}}"#,
    r#"{"association":{"interleaving":true,"partial_reliability":false}}"#,
    r#"{"buffers":{"send":"3000 bytes","receive":"3000 bytes"}}"#,
    r#"{"buffers":{"receive":"1500 bytes"}}"#,
    r#"{"buffers":{"send":"1 byte"}}"#,
    r#"{"recovery":{"fast_retransmits":"repeated"}}"#,
    r#"{"recovery":{"fast_recovery":false}}"#,
    r#"{"recovery":{"strike_all_in_recovery":false,"reports_in_queue":true}}"#,
    r#"{"recovery":{"fast_restarts_timer":true,"sack_order":"retransmit-first"}}"#,
    r#"{"recovery":{"backoff":"after-restart"}}"#,
    r#"{"sack":{"delay":"0 ns"}}"#,
    r#"{"sack":{"packets":4,"first_at_once":true}}"#,
    r#"{"output":{"nagle":true}}"#,
    r#"{"timer":{"restart_less_age":true}}"#,
    r#"{"thin":{"fast_retransmit_reports":1,"bundle_in_fast_retransmit":true}}"#,
    r#"{"thin":{"min_rto":"200 ms","backoff":false}}"#,
    r#"{"thin":{"bundle_with_new":"outstanding"}}"#,
    r#"{"thin":{"bundle_with_new":"listing","threshold":100}}"#,
    r#"{"congestion":{"burst_rule":"permanent","max_burst":1}}"#,
    r#"{"congestion":{"partial_bytes":"less-new-window","idle_halves":false}}"#,
    r#"{"clock":{"tick":"10 ms"},"rto":{"estimator":"ticks"}}"#,
    r#"{"heartbeat":{"interval":"1 s"}}"#,
];

fn resolve((base, changes): (&str, &str)) -> Arc<Profile> {
    let changes: Value = serde_json::from_str(changes).expect("JSON");
    profile(base, changes)
}

fn variant() -> impl Strategy<Value = (&'static str, &'static str)> {
    (prop::sample::select(vec!["rfc9260", "lksctp-2.6.15"]), prop::sample::select(VARIANTS))
}

fn message() -> impl Strategy<Value = Message> {
    let len = prop_oneof![4 => 1u64..200, 3 => 200u64..3_000, 1 => 3_000u64..40_000];
    let pause = prop_oneof![3 => Just(0u64), 1 => 1u64..400];
    (len, 0u16..4, prop::bool::weighted(0.2), pause).prop_map(|(len, stream, unordered, pause)| Message {
        len,
        how: Delivery { stream, unordered, ..Delivery::default() },
        pause: Duration::from_millis(pause),
    })
}

fn app() -> impl Strategy<Value = App> {
    let reading = prop_oneof![3 => Just((u64::MAX, 0u64)), 1 => (100u64..5_000, 1u64..200)];
    (prop::collection::vec(message(), 0..30), reading).prop_map(|(messages, (read_size, pause))| App {
        read_size,
        read_pause: Duration::from_millis(pause),
        ..App::new(messages)
    })
}

/// Cases of a property; `PROPTEST_CASES` changes it.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// What must hold at every instant; the first thing that does not.
fn fault(pair: &Pair) -> Option<String> {
    for (host, end) in pair.ends.iter() {
        let s = end.assoc.snapshot();
        let f = end.assoc.faults();
        // Not `reneged`: of two SACKs that overtook each other the older one seems to take back blocks.
        let lies = f.malformed_packets
            + f.malformed_chunks
            + f.bad_inits
            + f.bad_cookies
            + f.unknown_chunks
            + f.sacks_of_unsent
            + f.bad_gaps
            + f.empty_data
            + f.bad_streams
            + f.misordered_data
            + f.restarts;
        let rules = [
            ("bytes misplaced", end.assoc.misplaced_bytes() == 0),
            ("cwnd of 0", s.cwnd > 0 || s.state == "LISTEN" || s.state == "CLOSED"),
            ("ssthresh below four packets", s.ssthresh.is_none_or(|ssthresh| ssthresh >= 4 * 256)),
            ("more in flight than in the buffer", s.in_flight <= Some(s.send_queue)),
            ("a right peer that is found at fault", lies == 0),
            (
                "data in flight and no timer",
                s.in_flight == Some(0) || s.rexmt_due.is_some() || s.state == "CLOSED",
            ),
        ];
        if let Some((text, _)) = rules.iter().find(|(_, holds)| !holds) {
            return Some(format!("{} at {:?}: {text}: {s:?} {f:?}", host_name(host), pair.now()));
        }
    }
    None
}

fn run(
    profiles: &ByHost<Arc<Profile>>,
    apps: &ByHost<App>,
    harm: &Harm,
    setup: &Setup,
) -> Result<(), TestCaseError> {
    let total: ByHost<u64> = apps.values().map(|app| app.messages.iter().map(|m| m.len).sum()).collect();
    let mut pair = Pair::new(profiles, apps, channel(harm), setup);
    let most = 6_000 + (total.values().sum::<u64>() / 20) as usize;
    let mut wrong = None;
    let finished = pair.run(Duration::from_secs(40_000), most, |p| {
        wrong = fault(p);
        wrong.is_none()
    });
    let tail = |p: &Pair| p.log(60);
    prop_assert!(wrong.is_none(), "{}\n{}", wrong.unwrap_or_default(), tail(&pair));
    prop_assert!(pair.wrong.is_none(), "{:?}\n{}", pair.wrong, tail(&pair));
    prop_assert!(finished, "{} packets and no end at {:?}\n{}", pair.sent.len(), pair.now(), tail(&pair));
    let deaf = pair.ends[SERVER].assoc.state() == State::Listen;
    let given_up = deaf
        || pair
            .ends
            .values()
            .any(|e| e.events.contains(&Event::TimedOut) || e.events.contains(&Event::Reset));
    if given_up {
        // A packet that arrives after the end is out of the blue, and the ABORT that answers it may meet a peer that
        // still waits for SHUTDOWN-COMPLETE.
        prop_assert!(harm.loss + harm.reorder + harm.duplicate > 0, "{}", tail(&pair));
    }
    for (me, other) in [(SERVER, CLIENT), (CLIENT, SERVER)] {
        let (a, b) = (&pair.ends[me], &pair.ends[other]);
        if !given_up {
            prop_assert!(a.assoc.state() == State::Closed, "{:?}\n{}", a.assoc.state(), tail(&pair));
            prop_assert_eq!(a.offset, total[me], "not all was written\n{}", tail(&pair));
            prop_assert_eq!(b.read, total[me], "not all arrived\n{}", tail(&pair));
            let whole = a.written.iter().all(|(offset, message)| b.got.get(offset) == Some(&message.len));
            prop_assert!(whole, "a message is not whole");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(300), failure_persistence: None, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_message_arrives_once_and_in_order(
        server in variant(),
        client in variant(),
        server_app in app(),
        client_app in app(),
        harm in harm(),
        both_active in prop::bool::weighted(0.1),
        tsns in prop_oneof![Just([1u32, 1]), any::<[u32; 2]>(), (0u32..100).prop_map(|n| [0u32.wrapping_sub(n), u32::MAX - n])],
        mtu in prop_oneof![Just(1500u32), 300u32..1500],
    ) {
        let profiles = server_and_client(resolve(server), resolve(client));
        let tsns = server_and_client(tsns[0], tsns[1]);
        run(&profiles, &server_and_client(server_app, client_app), &harm, &Setup { tsns, both_active, mtu, ..Setup::default() })?;
    }
}

/// Messages some of which may be given up: by age, or by how often they were sent again.
fn expendable() -> impl Strategy<Value = Message> {
    let lifetime = prop::option::of(1u64..3_000);
    (message(), lifetime, prop::option::of(0u32..3)).prop_map(|(mut message, lifetime, max_retransmits)| {
        message.how.lifetime = lifetime.map(Duration::from_millis);
        message.how.max_retransmits = max_retransmits;
        message
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(200), failure_persistence: None, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    /// RFC 3758: a message arrives whole or not at all, those that are not to be given up do, and nobody waits for ever.
    #[test]
    fn messages_given_up_hold_up_nothing(
        base in prop::sample::select(vec!["rfc9260", "lksctp-2.6.15"]),
        interleaving in any::<bool>(),
        messages in prop::collection::vec(expendable(), 0..40),
        harm in harm(),
    ) {
        let changes = serde_json::json!({
            "association": { "interleaving": interleaving },
            "buffers": { "send": "1 MiB", "receive": "1 MiB" },
            "heartbeat": { "enabled": false },
        });
        let profiles = by_host(|_| profile(base, changes.clone()));
        let apps = server_and_client(App::new(Vec::new()), App::new(messages));
        let mut pair = Pair::new(&profiles, &apps, channel(&harm), &Setup::default());
        let finished = pair.run(Duration::from_secs(40_000), 40_000, |_| true);
        prop_assert!(pair.wrong.is_none(), "{:?}\n{}", pair.wrong, pair.log(60));
        prop_assert!(finished, "no end at {:?}\n{}", pair.now(), pair.log(60));
        let given_up = |e: &common::pair::End| e.events.contains(&Event::TimedOut) || e.events.contains(&Event::Reset);
        let client = pair.ends[CLIENT].assoc.state();
        prop_assert!(client == State::Closed, "{client:?}\n{}", pair.log(60));
        if pair.ends[SERVER].assoc.state() == State::Closed && !pair.ends.values().any(given_up) {
            let (server, client) = (&pair.ends[SERVER], &pair.ends[CLIENT]);
            for (offset, message) in &client.written {
                let got = server.got.get(offset).copied();
                let needed = message.how.lifetime.is_none() && message.how.max_retransmits.is_none();
                prop_assert!(got == Some(message.len) || (!needed && got.is_none()), "{got:?} of {message:?} at {offset}\n{}", pair.log(90));
            }
            prop_assert_eq!(server.assoc.snapshot().recv_queue, Some(0));
            prop_assert_eq!(client.assoc.snapshot().send_queue, 0);
        }
    }
}

/// A plain transfer through a clean channel, so that a fault of the harness shows by itself.
#[test]
fn a_clean_channel_loses_nothing() {
    for base in ["rfc9260", "lksctp-2.6.15"] {
        let profiles = by_host(|_| resolve((base, "{}")));
        let apps =
            server_and_client(vec![Message::new(1_000); 100], vec![Message::new(50_000)]).map(App::new);
        let clean = Harm { seed: 1, loss: 0, duplicate: 0, reorder: 0, delay_ms: 10, harmful: 0 };
        run(&profiles, &apps, &clean, &Setup::default()).expect("a clean channel");
    }
}
