//! A way to recover from outside: Tahoe beside NewReno, packet by packet, and under every profile.

use rexmit_scenario::{StackProfile, builtin_profiles, resolve_profile};
use rexmit_sim::two_hosts::SERVER;
use rexmit_sim::{Outcome, Resolved, RunOptions, Streams, run};
use rexmit_stack::Reason;
use rexmit_tcp::recovery::OwnRecovery;
use serde_json::{Value, json};

#[path = "../../../tcp/tests/own/tahoe.rs"]
mod tahoe;

use tahoe::Tahoe;

/// 60 segments over 1 Mbit/s, of which one is lost.
fn transfer(stack: Value, position: u32, own: Option<OwnRecovery>) -> Outcome {
    let scenario = json!({
        "hosts": { "server": { "stack": stack }, "client": { "stack": stack } },
        "path": { "rate": "1 Mbit/s", "delay": "20 ms", "queue": "100 packets", "down": { "drop": position } },
        "transfers": [{ "from": "server", "to": "client", "writes": "30 x 2896 bytes" }],
    });
    let resolved = Resolved::from_value(scenario).unwrap();
    let mut options = RunOptions { transmissions: true, ..RunOptions::default() };
    if let Some(own) = own {
        options = options.with_recovery(SERVER, own);
    }
    run(&resolved, &Streams::new(1, ""), &options).unwrap()
}

/// The server's data from the loss on: milliseconds, number of the segment, reason.
fn from_loss(outcome: &Outcome) -> Vec<(u64, i64, Reason)> {
    let sent = outcome.transmissions.iter().filter(|row| row.host == SERVER && row.len > 0);
    let all = sent.map(|row| (row.time.as_nanos() / 1_000_000, row.seq / 1448, row.reason));
    all.skip_while(|(_, segment, _)| *segment < 39).collect()
}

/// Segment 18 is lost. Both send it again for the third duplicate; NewReno lets new data out before and after, a segment
/// for each duplicate, and Tahoe is silent until it is repaired and begins with two.
#[test]
fn tahoe_begins_anew_where_newreno_goes_on() {
    let stack = || json!({ "inherits": "rfc-2014", "options": { "sack": false } });
    let (new_reno, tahoe) =
        (transfer(stack(), 20, None), transfer(stack(), 20, Some(OwnRecovery::new(Tahoe::new))));
    let fast = Reason::Fast { duplicates: 3, sacked: 0 };
    let sent = from_loss(&new_reno);
    let limited = Reason::LimitedTransmit;
    assert_eq!(sent[..4], [(317, 39, Reason::New), (329, 40, limited), (341, 41, limited), (353, 18, fast)]);
    assert_eq!(sent[4..7], [(485, 42, Reason::New), (497, 43, Reason::New), (509, 44, Reason::New)]);
    let sent = from_loss(&tahoe);
    assert_eq!(sent[..2], [(317, 39, Reason::New), (353, 18, fast)]);
    // The ACK of the repaired hole, at 581 ms, opens the window to two segments, and those of what follows open it
    // by one each.
    let rounds: Vec<(u64, i64)> = sent[2..9].iter().map(|(at, segment, _)| (*at, *segment)).collect();
    assert_eq!(rounds, [(581, 40), (581, 41), (646, 42), (646, 43), (646, 44), (698, 45), (698, 46)]);
    assert!(sent[2..].iter().all(|(_, _, reason)| *reason == Reason::New));
    for outcome in [&new_reno, &tahoe] {
        assert_eq!((outcome.row.retransmits, outcome.row.timeouts), (1, 0));
    }
    assert!(tahoe.row.time_ns > new_reno.row.time_ns);
}

/// The rest of every profile, its windows, timers and receivers, goes with a strategy from outside.
#[test]
fn every_profile_delivers_with_recovery_from_outside() {
    for (name, _) in builtin_profiles() {
        let Ok(StackProfile::Tcp(_)) = resolve_profile(&json!(name)) else { continue };
        for position in [0, 1, 2, 12, 30, 61] {
            let row = transfer(json!(name), position, Some(OwnRecovery::new(Tahoe::new))).row;
            assert_eq!((row.bytes, row.completed, row.error), (86_880, true, None), "{name} {position}");
        }
    }
}

/// SCTP's recovery is the association's, and it says so.
#[test]
fn an_association_refuses_it() {
    let scenario = json!({
        "hosts": { "server": { "stack": "rfc9260" }, "client": { "stack": "rfc9260" } },
        "path": { "rate": "1 Mbit/s", "delay": "20 ms", "queue": "100 packets" },
        "transfers": [{ "from": "server", "to": "client", "writes": "1 x 1000 bytes" }],
    });
    let options = RunOptions::default().with_recovery(SERVER, OwnRecovery::new(Tahoe::new));
    let error = run(&Resolved::from_value(scenario).unwrap(), &Streams::new(1, ""), &options).unwrap_err();
    let expected = "hosts.server.stack: a way to recover of one's own goes with the model of TCP only";
    assert_eq!(error.to_string(), expected);
}
