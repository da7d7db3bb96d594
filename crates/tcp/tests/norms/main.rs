//! Packet scripts of the profiles `rfc`, `rfc-2014`, `linux-2.6.9`, `linux-2.6.15` and `linux-6.1`, with RACK and without. Tests are named after the section or the rule
//! that they hold; a *twin* is the same stimulus for another system, and the lines that differ are the claim.

#[path = "../common/mod.rs"]
mod common;

mod ecn;
mod few;
mod linux;
mod linux2615;
mod linux269;
mod linux61;
mod linux61_ack;
mod linux61_answers;
mod linux61_buffer;
mod linux61_queue;
mod linux61_rack;
mod linux_ack;
mod rfc;
mod rfc5682;
mod rfc6582;
mod rfc6675;
mod rfc8985;
mod rfc9406;
mod rfc9937;

use std::ops::RangeInclusive;
use std::sync::Arc;

use common::*;
use rexmit_tcp::Profile;
use rexmit_tcp::profile::{BsdPipe, HalvingFloor, PlainRecovery, RecoveryExit, SackRecovery};

/// A full segment with timestamps.
const MSS: u32 = 1448;

/// Sequence number of the first byte of segment `n`, counted from 1.
fn at(n: u32) -> u32 {
    1 + MSS * (n - 1)
}

/// Segment `n`.
fn seg(n: u32) -> Seg {
    data(at(n)..at(n + 1))
}

/// A server that has just written `segments` full segments, 20 ms after its SYN-ACK, and sent `sent` of them.
fn server(profile: Arc<Profile>, peer: Peer, segments: u32, sent: u32) -> Script {
    let mut t = Script::server(profile).with_peer(peer);
    t.establish(20);
    t.write(u64::from(segments * MSS));
    expect_segments(&mut t, 1..=sent);
    t
}

fn expect_segments(t: &mut Script, numbers: RangeInclusive<u32>) {
    for n in numbers {
        t.expect(seg(n));
    }
    t.expect_nothing();
}

/// An ACK of all before segment `una` that reports segments `left` to `right`, both included.
fn sack(una: u32, left: u32, right: u32) -> Seg {
    ack(at(una)).sack([(at(left), at(right + 1))])
}

/// What no profile uses goes: each way to recover, window at its end and the like that a profile may name, one names.
#[test]
fn every_choice_of_recovery_serves_a_profile() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
    let mut used = Vec::new();
    for entry in std::fs::read_dir(folder).expect("profiles") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a profile");
        if path.extension().is_some_and(|kind| kind == "toml") && !text.contains("\nprotocol = \"") {
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
            let recovery = profile(name, serde_json::json!({})).recovery.clone();
            used.push([
                serde_json::to_value(recovery.sack),
                serde_json::to_value(recovery.plain),
                serde_json::to_value(recovery.exit),
                serde_json::to_value(recovery.bsd_pipe),
                serde_json::to_value(recovery.halving_floor),
            ]);
        }
    }
    assert!(used.len() >= 7, "{used:?}");
    let schemas = [
        schemars::schema_for!(SackRecovery),
        schemars::schema_for!(PlainRecovery),
        schemars::schema_for!(RecoveryExit),
        schemars::schema_for!(BsdPipe),
        schemars::schema_for!(HalvingFloor),
    ];
    for (place, schema) in schemas.iter().enumerate() {
        let choices = schema.get("oneOf").and_then(|all| all.as_array()).expect("choices");
        assert!(choices.len() > 1);
        for choice in choices {
            let named = used.iter().any(|of| of[place].as_ref().is_ok_and(|value| *value == choice["const"]));
            assert!(named, "no profile has {}", choice["const"]);
        }
    }
}
