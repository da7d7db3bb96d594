//! The applications of a scenario on this machine's kernel: the same scenario ends, with the same bytes as on the
//! model.

use rexmit_live::{LiveOptions, Stock};
use rexmit_scenario::{Resolved, Row, Streams};
use rexmit_sim::RunOptions;
use serde_json::{Value, json};

/// False, with a printed reason, where this process may not make hosts.
fn may_make_hosts() -> bool {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: not root, so no network namespaces and no interfaces");
        return false;
    }
    // In a thread, so that this one stays where it is.
    let tried = std::thread::spawn(|| nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET)).join();
    let wrong = match tried {
        Ok(Ok(())) => std::fs::File::open("/dev/net/tun").err().map(|e| format!("/dev/net/tun: {e}")),
        Ok(Err(e)) => Some(format!("no network namespaces: {e}")),
        Err(_) => Some("no threads".to_string()),
    };
    if let Some(wrong) = &wrong {
        eprintln!("skipped: {wrong}");
    }
    wrong.is_none()
}

fn scenario(transfers: Value) -> Resolved {
    let host = json!({ "stack": "rfc-2014" });
    let value = json!({
        "hosts": { "server": host, "client": host },
        "path": { "delay": "5 ms" },
        "transfers": transfers,
        "limit": "60 s",
    });
    Resolved::from_value(value).unwrap_or_else(|e| panic!("{e}"))
}

/// On this kernel, after the model.
fn both(name: &str, transfers: Value) -> Option<[Row; 2]> {
    if !may_make_hosts() {
        return None;
    }
    let (resolved, streams) = (scenario(transfers), Streams::new(1, name));
    let model = rexmit_sim::run(&resolved, &streams, &RunOptions::default()).unwrap().row;
    let kernel =
        rexmit_live::run(&resolved, &streams, &LiveOptions::default(), &mut Stock::default(), &mut |_| {});
    let kernel = kernel.unwrap_or_else(|e| panic!("{name}: {e}")).row;
    for row in [&model, &kernel] {
        assert!(row.completed && row.error.is_none(), "{name}: {:?}", row.error);
    }
    assert_eq!(model.bytes, kernel.bytes, "{name}");
    Some([model, kernel])
}

/// The kernel may be late but not early: no write and no thought comes before its time.
fn not_earlier(name: &str, least_ms: u64, transfers: Value) {
    let Some([model, kernel]) = both(name, transfers) else { return };
    assert!(model.time_ns >= least_ms * 1_000_000, "{name}: {}", model.time_ns);
    assert!(kernel.time_ns >= least_ms * 1_000_000, "{name}: {}", kernel.time_ns);
}

#[test]
fn bursts_end_with_the_bytes_of_the_model() {
    // The last burst begins two periods after the first; its last write and the close are three and four pauses on.
    let transfer = json!([{ "from": "server", "to": "client", "writes": "4 x 100 bytes", "pause": "5 ms",
        "bursts": { "count": 3, "every": "100 ms" } }]);
    not_earlier("bursts", 220, transfer);
}

#[test]
fn requests_end_with_the_bytes_of_the_model() {
    let requests = json!({ "count": 5, "request": "200 bytes, 50 bytes", "response": "10 kB",
        "think": "3 ms", "pause": "20 ms" });
    let transfer = |close: bool, opener: &str| {
        json!([{ "from": "server", "to": "client", "opened_by": opener, "requests": requests, "close": close,
            "connections": 3, "stagger": "7 ms" }])
    };
    // The handshake, for each request a round trip and the thought, and the pauses between.
    let least = 10 + 5 * (10 + 3) + 4 * 20;
    not_earlier("requests", least, transfer(true, "client"));
    not_earlier("requests, no close", least, transfer(false, "client"));
    not_earlier("requests, opened by the server", least, transfer(true, "server"));
}

/// More than the buffers hold in both directions, so that writes wait.
#[test]
fn large_requests_end_with_the_bytes_of_the_model() {
    let requests = json!({ "count": 3, "request": "300 kB", "response": "500 kB" });
    not_earlier("large", 10, json!([{ "from": "client", "to": "server", "requests": requests }]));
}

#[test]
fn two_way_traffic_ends_with_the_bytes_of_the_model() {
    let transfer =
        |from: &str, to: &str| json!({ "from": from, "to": to, "opened_by": "client", "bulk": "1 MB" });
    not_earlier("two-way", 10, json!([transfer("server", "client"), transfer("client", "server")]));
}
