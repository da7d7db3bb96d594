//! What a connection leaves to the next one of its host (FB-HC-1 to FB-HC-9), packet by packet.

use std::sync::Arc;

use rexmit_stack::Cached;
use rexmit_tcp::host_cache::{CacheUpdate, CachedWindow, SharedHostCache};
use rexmit_tcp::{Profile, Role, State};
use rexmit_units::Duration;
use serde_json::{Value, json};

use crate::common::*;

const MSS: u32 = 1448;

fn at(n: u32) -> u32 {
    1 + MSS * (n - 1)
}

fn keeps(changes: Value) -> Arc<Profile> {
    let mut all = json!({ "host_cache": { "on": true } });
    for (key, value) in changes.as_object().expect("a table") {
        all["host_cache"][key] = value.clone();
    }
    freebsd(all)
}

/// A server's connection that takes so many RTT samples, those of the handshake and of its FIN included, and closes.
fn clean(profile: &Arc<Profile>, cache: &SharedHostCache, samples: u32) -> Script {
    let mut t = Script::keeping(profile.clone(), Role::Passive, cache);
    t.establish(10);
    t.write(u64::from((samples - 2) * MSS));
    acknowledged(&mut t, samples - 1);
    end(&mut t, at(samples - 1));
    t
}

/// What is before segment `una` is acknowledged, a segment each 10 ms.
fn acknowledged(t: &mut Script, una: u32) {
    t.drain();
    for n in 2..=una {
        t.advance_ms(10).recv(ack(at(n)));
        t.drain();
    }
}

/// Closes it: the peer acknowledges the FIN at `fin_at` and sends its own.
fn end(t: &mut Script, fin_at: u32) {
    t.close();
    t.drain();
    t.recv(ack(fin_at + 1)).recv(fin(1).ack(fin_at + 1)).expect(ack(2));
    t.expect_state(State::TimeWait);
}

/// A server's connection that loses its fifth segment; its threshold is then four segments.
fn lossy(profile: &Arc<Profile>, cache: &SharedHostCache) -> Script {
    let mut t = Script::keeping(profile.clone(), Role::Passive, cache);
    t.establish(10);
    t.write(u64::from(12 * MSS));
    acknowledged(&mut t, 5);
    for n in 6..=8 {
        t.recv(ack(at(5)).sack([(at(6), at(n + 1))]));
        t.drain();
    }
    t.expect_ssthresh(u64::from(4 * MSS));
    t.advance_ms(10).recv(ack(at(13)));
    t.drain();
    end(&mut t, at(13));
    t
}

fn found(profile: &Arc<Profile>, cache: &SharedHostCache) -> Cached {
    let mut t = Script::keeping(profile.clone(), Role::Passive, cache);
    t.establish(10);
    t.snap().cached
}

#[test]
fn the_next_connection_ends_its_slow_start_at_the_cached_threshold() {
    let (profile, cache) = (keeps(json!({})), SharedHostCache::default());
    lossy(&profile, &cache);
    let mut t = Script::keeping(profile, Role::Passive, &cache);
    t.establish(10);
    // FB-HC-3: four packets with their headers. FB-HC-6: one segment, and one for the ACK of the SYN.
    assert_eq!(t.snap().cached.ssthresh, Some(4 * (1448 + 40)));
    t.expect_ssthresh(5952).expect_cwnd(2 * 1448);
    t.write(u64::from(20 * MSS));
    t.expect(data(at(1)..at(2))).expect(data(at(2)..at(3))).expect_nothing();
    t.advance_ms(10);
    for (una, sends, cwnd) in [(2, 3..=4, 4344), (3, 5..=6, 5792), (4, 7..=8, 7240)] {
        t.recv(ack(at(una)));
        for n in sends {
            t.expect(data(at(n)..at(n + 1)));
        }
        t.expect_nothing().expect_cwnd(cwnd);
    }
    // 7240 bytes are above the threshold: from here on a segment for a segment.
    t.recv(ack(at(5))).expect(data(at(9)..at(10))).expect_nothing().expect_cwnd(7240 + 1448 * 1448 / 7240);
    t.recv(ack(at(6))).expect(data(at(10)..at(11))).expect_nothing();
}

#[test]
fn a_host_whose_cache_is_off_begins_as_if_it_knew_nobody() {
    let cache = SharedHostCache::default();
    lossy(&keeps(json!({})), &cache);
    let mut t = Script::keeping(freebsd(json!({})), Role::Passive, &cache);
    t.establish(10);
    assert_eq!(t.snap().cached, Cached::default());
    t.expect_cwnd(4380 + 1448);
    t.write(u64::from(20 * MSS));
    for n in 1..=4 {
        t.expect(data(at(n)..at(n + 1)));
    }
    t.expect_nothing();
}

#[test]
fn a_connection_with_fewer_samples_leaves_nothing() {
    for (update, least) in [("host-cache", 4), ("route-metrics", 16)] {
        let profile = keeps(json!({ "update": update, "samples": least }));
        for (samples, leaves) in [(least - 1, false), (least, true)] {
            let cache = SharedHostCache::default();
            let mut t = clean(&profile, &cache, samples);
            t.advance_ms(120_000);
            cache.borrow_mut().pass(Duration::from_secs(120));
            assert_eq!(found(&profile, &cache).rtt.is_some(), leaves, "{update}: {samples}");
        }
    }
}

#[test]
fn a_connection_without_a_loss_leaves_no_threshold() {
    let (profile, cache) = (keeps(json!({})), SharedHostCache::default());
    let t = clean(&profile, &cache, 6);
    let now = found(&profile, &cache);
    assert_eq!((now.ssthresh, now.rtt, now.cwnd), (None, t.snap().srtt, Some(t.snap().cwnd)));
}

#[test]
fn a_threshold_of_half_the_send_buffer_or_more_is_not_kept() {
    // 4 x 1448 bytes are half of a buffer of 8 x 1448.
    for (buffer, kept) in [("11584 bytes", None), ("13032 bytes", Some(5952))] {
        let profile = freebsd(json!({ "host_cache": { "on": true }, "buffers": { "send": buffer } }));
        let cache = SharedHostCache::default();
        let mut t = Script::keeping(profile.clone(), Role::Passive, &cache);
        t.establish(10);
        t.write(u64::from(8 * MSS));
        acknowledged(&mut t, 5);
        for _ in 0..3 {
            t.recv(ack(at(5)));
            t.drain();
        }
        t.expect_ssthresh(5792);
        t.recv(ack(at(9)));
        t.drain();
        end(&mut t, at(9));
        assert_eq!(found(&profile, &cache).ssthresh, kept, "{buffer}");
    }
}

#[test]
fn an_hour_later_and_a_look_at_all_entries_it_is_forgotten() {
    // FB-HC-9: last used at 30 ms of the host's age, looked at each 300 s: at 3600 s it has lived too short a time.
    for (seconds, known) in [(3_899, true), (3_900, false)] {
        let (profile, cache) = (keeps(json!({})), SharedHostCache::default());
        lossy(&profile, &cache);
        cache.borrow_mut().pass(Duration::from_secs(seconds));
        assert_eq!(found(&profile, &cache).ssthresh.is_some(), known, "{seconds}");
    }
}

#[test]
fn the_metrics_of_a_route_are_left_when_time_wait_is_over() {
    let profile = keeps(json!({ "update": "route-metrics", "first_window": "unused" }));
    for (seconds, known) in [(59, None), (61, Some(5952))] {
        let cache = SharedHostCache::default();
        lossy(&profile, &cache);
        cache.borrow_mut().pass(Duration::from_secs(seconds));
        let now = found(&profile, &cache);
        assert_eq!((now.ssthresh, now.cwnd), (known, None), "{seconds}");
    }
}

#[test]
fn freebsd_4_keeps_the_metrics_of_routes() {
    let profile = profile("freebsd-4.6", json!({ "host_cache": { "on": true } }));
    let cache = profile.host_cache.as_ref().expect("a cache");
    assert_eq!((cache.update, cache.first_window), (CacheUpdate::RouteMetrics, CachedWindow::Unused));
    assert_eq!((cache.samples, cache.prune), (16, Duration::from_secs(600)));
}

/// An active opener's first flight, in segments, after a connection that left a window of `cwnd`.
fn first_flight(stack: &str, window: u16) -> (Option<u64>, usize) {
    let profile = profile(stack, json!({ "host_cache": { "on": true } }));
    let cache = SharedHostCache::default();
    let mut t = Script::keeping(profile.clone(), Role::Active, &cache);
    t.establish(10);
    t.write(u64::from(16 * MSS));
    acknowledged(&mut t, 17);
    // The ACK of the FIN opens the window once more.
    end(&mut t, at(17));
    let peer = Peer { syn_win: window, ..Peer::default() };
    let mut t = Script::keeping(profile, Role::Active, &cache).with_peer(peer);
    t.establish(10);
    t.write(u64::from(20 * MSS));
    (t.snap().cached.cwnd, t.drain().len())
}

#[test]
fn the_cached_window_bounds_the_first_flight_as_far_as_the_peers_window_is_known() {
    // FB-HC-6: 6.x looks before it has noted any window; 7.x has noted that of the SYN-ACK.
    assert_eq!(first_flight("freebsd-6.0", 65_535).1, 1);
    let (cwnd, flight) = first_flight("freebsd-7.2", 65_535);
    assert_eq!(cwnd, Some(4380 + 17 * 1448));
    assert_eq!(flight, (4380 + 17 * 1448) / 2 / 1448);
    assert_eq!(first_flight("freebsd-7.2", 6_000).1, 6_000 / 1448);
}
