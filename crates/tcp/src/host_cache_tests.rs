use super::*;

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 1));

fn config(update: CacheUpdate) -> HostCacheConfig {
    HostCacheConfig {
        on: true,
        update,
        samples: 4,
        first_window: CachedWindow::OneSegment,
        expire: Duration::from_secs(3600),
        prune: Duration::from_secs(300),
    }
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn metrics(ssthresh: u32, srtt: u32, cwnd: u32) -> Metrics {
    Metrics { ssthresh, srtt, rttvar: srtt / 2, cwnd, bandwidth: 0 }
}

/// What is there after these connections, a second apart.
fn after(update: CacheUpdate, left: &[Metrics]) -> Metrics {
    let (config, mut cache) = (config(update), HostCache::default());
    for (n, one) in (1..).zip(left) {
        cache.write(&config, at(n), (PEER, Duration::ZERO), *one);
    }
    cache.read(&config, at(60), PEER).unwrap()
}

#[test]
fn a_new_value_and_the_old_one_leave_their_mean() {
    let left = [metrics(5952, 320, 10_000), metrics(2976, 641, 2_000), metrics(2976, 640, 2_000)];
    // FB-HC-4, rounded down each time: (5952 + 2976) / 2 = 4464, (4464 + 2976) / 2 = 3720.
    let mean = after(CacheUpdate::HostCache, &left);
    assert_eq!((mean.ssthresh, mean.srtt, mean.rttvar, mean.cwnd), (3720, 560, 280, 4_000));
}

#[test]
fn what_is_not_known_leaves_what_was_there() {
    let left = [metrics(5952, 320, 10_000), metrics(0, 0, 0)];
    assert_eq!(after(CacheUpdate::HostCache, &left), left[0]);
    // Of a route, a time that is not known takes the place of one that is.
    let route = after(CacheUpdate::RouteMetrics, &left);
    assert_eq!((route.ssthresh, route.srtt, route.rttvar, route.cwnd), (5952, 0, 0, 0));
}

#[test]
fn peers_are_kept_apart() {
    let (config, mut cache) = (config(CacheUpdate::HostCache), HostCache::default());
    cache.write(&config, at(1), (PEER, Duration::ZERO), metrics(5952, 320, 1448));
    let other = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 2));
    assert_eq!(cache.read(&config, at(2), other), None);
    assert_eq!(cache.read(&config, at(2), PEER), Some(metrics(5952, 320, 1448)));
}

#[test]
fn an_entry_that_is_read_lives_on() {
    let (config, mut cache) = (config(CacheUpdate::HostCache), HostCache::default());
    cache.write(&config, at(10), (PEER, Duration::ZERO), metrics(5952, 320, 1448));
    assert!(cache.read(&config, at(3_800), PEER).is_some(), "looked at 3600 s, when it had 10 s to live");
    assert!(cache.read(&config, at(7_499), PEER).is_some(), "used at 3800 s");
    assert!(cache.read(&config, at(11_400), PEER).is_none(), "not used since 7499 s");
}

#[test]
fn the_age_of_a_host_goes_on_from_run_to_run_and_through_text() {
    let (config, mut cache) = (config(CacheUpdate::HostCache), HostCache::default());
    cache.write(&config, at(10), (PEER, Duration::from_secs(60)), metrics(5952, 320, 1448));
    cache.pass(Duration::from_secs(50));
    let text = serde_json::to_string(&cache).unwrap();
    let mut again: HostCache = serde_json::from_str(&text).unwrap();
    assert_eq!(again, cache);
    assert_eq!(again.read(&config, at(19), PEER), None, "due when the host is 70 s old");
    assert!(again.read(&config, at(20), PEER).is_some());
}
