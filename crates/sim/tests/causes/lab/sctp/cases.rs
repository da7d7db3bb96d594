//! The scenarios of SCTP.

use serde_json::{Value, json};

use crate::lab::Case;

/// The SCTPs: both profiles, and what differs in how they repair.
pub fn stacks() -> Vec<(&'static str, Value)> {
    let lk = |changes: Value| changed("lksctp-2.6.15", changes);
    let rfc = |changes: Value| changed("rfc9260", changes);
    let thin = |changes: Value| lk(json!({ "thin": changes }));
    let all = json!({
        "fast_retransmit_reports": 1, "bundle_in_fast_retransmit": true, "min_rto": "200 ms", "backoff": false,
    });
    let age = json!({ "restart_less_age": true });
    vec![
        ("rfc", rfc(json!({}))),
        ("lksctp", lk(json!({}))),
        ("lksctp-fr-1", thin(json!({ "fast_retransmit_reports": 1 }))),
        ("lksctp-fr-bundles", thin(json!({ "bundle_in_fast_retransmit": true }))),
        ("lksctp-rto-200", thin(json!({ "min_rto": "200 ms" }))),
        ("lksctp-no-backoff", thin(json!({ "backoff": false }))),
        ("lksctp-bundles", thin(json!({ "bundle_with_new": "outstanding" }))),
        ("lksctp-bundles-listing", thin(json!({ "bundle_with_new": "listing" }))),
        ("lksctp-age", lk(json!({ "timer": age }))),
        ("lksctp-all", lk(json!({ "thin": all, "timer": age }))),
        ("lksctp-all-at-once", lk(json!({ "thin": all, "timer": age, "sack": { "delay": "0 ns" } }))),
        ("rfc-at-once", rfc(json!({ "sack": { "delay": "0 ns" } }))),
        ("rfc-all", rfc(json!({ "thin": all, "timer": age }))),
        ("rfc-rto-200", rfc(json!({ "rto": { "min": "200 ms" } }))),
        ("rfc-four-reports", rfc(json!({ "recovery": { "missing_reports": 4 } }))),
        ("rfc-i-data", rfc(json!({ "association": { "interleaving": true } }))),
    ]
}

fn changed(profile: &str, mut changes: Value) -> Value {
    changes["inherits"] = json!(profile);
    changes
}

/// All scenarios.
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (stack, profile) in stacks() {
        let mut of = Of { stack, profile, cases: &mut cases };
        of.thin();
        of.bursts();
        of.thick();
        of.positions();
        of.patterns();
        of.messages();
        of.disorder();
        of.tails_and_windows();
    }
    cases
}

/// The cases of a stack.
struct Of<'a> {
    stack: &'static str,
    profile: Value,
    cases: &'a mut Vec<Case>,
}

impl Of<'_> {
    fn add(&mut self, name: &str, path: Value, transfer: Value) {
        let mut transfer = transfer;
        transfer["from"] = json!("server");
        transfer["to"] = json!("client");
        let scenario = json!({
            "hosts": { "server": { "stack": self.profile }, "client": { "stack": self.profile } },
            "path": path,
            "transfers": [transfer],
            "limit": "1200 s",
        });
        self.cases.push(Case { name: format!("{} {name}", self.stack), scenario });
    }

    /// pedersen-2006: 100 bytes each 250 ms, at its delays and losses, and others.
    fn thin(&mut self) {
        for (i, delay) in ["0 ms", "50 ms", "100 ms", "200 ms"].into_iter().enumerate() {
            for loss in ["2 %", "5 %", "10 %"] {
                let path = json!({ "delay": delay, "down": { "loss": loss }, "up": { "loss": loss } });
                let (size, pause) = [(100, "250 ms"), (100, "100 ms"), (300, "40 ms"), (100, "250 ms")][i];
                let thin = json!({ "writes": format!("300 x {size} bytes"), "pause": pause });
                self.add(&format!("thin, {loss} both ways, {delay} one way"), path, thin);
            }
        }
        let path = json!({ "delay": "50 ms", "up": { "loss": "20 %" }, "down": { "loss": "3 %" } });
        self.add("thin, many lost SACKs", path, json!({ "writes": "300 x 100 bytes", "pause": "100 ms" }));
    }

    /// pedersen-2006 section 5.1.2: four messages, then a second without.
    fn bursts(&mut self) {
        for (delay, loss) in [("50 ms", "5 %"), ("100 ms", "10 %"), ("5 ms", "5 %")] {
            let path = json!({ "delay": delay, "down": { "loss": loss }, "up": { "loss": loss } });
            let bursts = json!({ "writes": "4 x 100 bytes", "pause": "10 ms",
                "bursts": { "count": 60, "every": "1052 ms" } });
            self.add(&format!("bursts, {loss} both ways, {delay} one way"), path, bursts);
        }
    }

    /// As fast as the window allows.
    fn thick(&mut self) {
        let gilbert = json!({ "loss": { "gilbert_elliott": { "p": "1 %", "r": "30 %" } } });
        for (what, down, up) in [
            ("1 %", json!({ "loss": "1 %" }), json!({})),
            ("3 %", json!({ "loss": "3 %" }), json!({})),
            ("10 %", json!({ "loss": "10 %" }), json!({})),
            ("5 % both ways", json!({ "loss": "5 %" }), json!({ "loss": "5 %" })),
            ("1 %, SACKs 20 %", json!({ "loss": "1 %" }), json!({ "loss": "20 %" })),
            ("bursts", gilbert, json!({})),
        ] {
            for (delay, rate, size) in [
                ("1 ms", "10 Mbit/s", "200 kB"),
                ("50 ms", "2 Mbit/s", "200 kB"),
                ("200 ms", "20 Mbit/s", "150 kB"),
            ] {
                let path =
                    json!({ "rate": rate, "delay": delay, "queue": "60 packets", "down": down, "up": up });
                let bulk = json!({ "bulk": size, "write_size": "1400 bytes" });
                self.add(&format!("thick, {what}, {delay} one way"), path, bulk);
            }
        }
        for (queue, delay) in [(4, "10 ms"), (10, "40 ms")] {
            let path = json!({ "rate": "2 Mbit/s", "delay": delay, "queue": format!("{queue} packets") });
            self.add(
                &format!("thick, queue of {queue}"),
                path,
                json!({ "bulk": "200 kB", "write_size": "1400 bytes" }),
            );
        }
    }

    /// One loss at each position of a short flow.
    fn positions(&mut self) {
        for position in 3..=16 {
            let delay = if position % 2 == 0 { "10 ms" } else { "100 ms" };
            let path = json!({ "rate": "1 Mbit/s", "delay": delay, "down": { "drop": position } });
            self.add(&format!("position {position}"), path, json!({ "writes": "12 x 1400 bytes" }));
            let path = json!({ "delay": delay, "down": { "drop": position } });
            let thin = json!({ "writes": "16 x 100 bytes", "pause": "60 ms" });
            self.add(&format!("thin, position {position}"), path, thin);
        }
    }

    /// Losses of several packets, of retransmissions, of SACKs.
    fn patterns(&mut self) {
        let data = |nth: &str| json!({ "match": "data", "nth": nth });
        let again = |segment: u32, nth: &str| json!({ "retransmission": { "segment": segment, "nth": nth } });
        for (i, (what, down, up)) in [
            ("two in a row", json!([data("20,21")]), json!([])),
            ("two apart", json!([data("20,23")]), json!([])),
            ("three", json!([data("20,22,25")]), json!([])),
            ("every second", json!([data("20,22,24,26,28,30")]), json!([])),
            ("a window", json!([data("20-40")]), json!([])),
            ("a retransmission", json!([data("20"), again(20, "1")]), json!([])),
            ("two retransmissions", json!([data("20"), again(20, "1-2")]), json!([])),
            ("four retransmissions", json!([data("20"), again(20, "1-4")]), json!([])),
            ("SACKs for a while", json!([data("20")]), json!("14-22")),
            ("all SACKs for a while", json!([]), json!("12-40")),
        ]
        .into_iter()
        .enumerate()
        {
            let delay = ["5 ms", "50 ms", "150 ms"][i % 3];
            let path =
                json!({ "rate": "5 Mbit/s", "delay": delay, "down": { "drop": down }, "up": { "drop": up } });
            self.add(
                &format!("loses {what}"),
                path.clone(),
                json!({ "bulk": "100 kB", "write_size": "1400 bytes" }),
            );
            let thin = json!({ "writes": "100 x 200 bytes", "pause": "30 ms" });
            self.add(&format!("thin, loses {what}"), path, thin);
        }
    }

    /// Small and large messages, streams, without order.
    fn messages(&mut self) {
        let path = |loss: &str| json!({ "rate": "4 Mbit/s", "delay": "30 ms", "down": { "loss": loss }, "up": { "loss": "2 %" } });
        for (what, transfer) in [
            ("20 bytes", json!({ "writes": "400 x 20 bytes" })),
            ("500 bytes", json!({ "bulk": "150 kB", "write_size": "500 bytes" })),
            ("6000 bytes in three streams", json!({ "writes": "40 x 6000 bytes", "streams": 3 })),
            ("30000 bytes with pauses", json!({ "writes": "8 x 30000 bytes", "pause": "300 ms" })),
            ("unordered", json!({ "bulk": "100 kB", "write_size": "700 bytes", "unordered": true })),
            ("five streams", json!({ "writes": "200 x 100 bytes", "pause": "20 ms", "streams": 5 })),
        ] {
            for loss in ["2 %", "6 %"] {
                self.add(&format!("messages, {what}, {loss}"), path(loss), transfer.clone());
            }
        }
    }

    /// Reordering, duplicates, jitter, delays that change.
    fn disorder(&mut self) {
        let bulk = json!({ "bulk": "200 kB", "write_size": "1400 bytes" });
        let thin = json!({ "writes": "200 x 100 bytes", "pause": "40 ms" });
        for (what, path) in [
            ("reorder by 1", json!({ "down": { "reorder": { "position": "10", "period": 20, "past": 1 } } })),
            ("reorder by 2", json!({ "down": { "reorder": { "position": "10", "period": 20, "past": 2 } } })),
            ("reorder by 5", json!({ "down": { "reorder": { "position": "10", "period": 30, "past": 5 } } })),
            (
                "reorder and loss",
                json!({ "down": { "reorder": { "position": "10", "period": 20, "past": 4 }, "loss": "2 %" } }),
            ),
            ("jitter", json!({ "down": { "jitter": { "spread": "6 ms", "reorder": true }, "loss": "1 %" } })),
            (
                "SACKs reordered",
                json!({ "up": { "jitter": { "spread": "6 ms", "reorder": true } }, "down": { "loss": "2 %" } }),
            ),
            (
                "duplicates",
                json!({ "down": { "duplicate": { "position": "7", "period": 10 }, "loss": "2 %" } }),
            ),
            (
                "SACKs duplicated",
                json!({ "up": { "duplicate": { "position": "4", "period": 5 } }, "down": { "loss": "1 %" } }),
            ),
            ("corrupt", json!({ "down": { "corrupt": { "position": "9", "period": 40 } } })),
            (
                "delay jumps up",
                json!({ "down": { "changes": [{ "packet": 40, "delay": "1200 ms" }, { "packet": 90, "delay": "30 ms" }] } }),
            ),
            (
                "a stall",
                json!({ "down": { "hold": { "position": "50", "by": "4 s", "keep_order": true }, "loss": "1 %" } }),
            ),
            (
                "SACKs stall",
                json!({ "up": { "hold": { "position": "30", "by": "4 s", "keep_order": true } } }),
            ),
        ] {
            let mut path = path;
            path["rate"] = json!("5 Mbit/s");
            path["delay"] = json!("30 ms");
            self.add(&format!("thick, {what}"), path.clone(), bulk.clone());
            self.add(&format!("thin, {what}"), path, thin.clone());
        }
    }

    /// The end of a transfer is lost; a reader that does not read.
    fn tails_and_windows(&mut self) {
        for (what, drop) in
            [("last", "30"), ("last two", "29-30"), ("last four", "27-30"), ("last but one", "29")]
        {
            let path = json!({ "rate": "5 Mbit/s", "delay": "25 ms",
                "down": { "drop": { "match": "data", "nth": drop } } });
            self.add(&format!("tail, {what}"), path.clone(), json!({ "writes": "30 x 1400 bytes" }));
            self.add(
                &format!("thin tail, {what}"),
                path,
                json!({ "writes": "30 x 100 bytes", "pause": "30 ms" }),
            );
        }
        let both_ways = json!({ "rate": "5 Mbit/s", "delay": "20 ms", "down": { "loss": "4 %" }, "up": { "loss": "4 %" } });
        let read = json!({ "size": "8000 bytes", "rate": "64 kbit/s" });
        let slow = json!({ "bulk": "150 kB", "write_size": "1400 bytes", "read": read });
        let profile = self.profile.clone();
        self.profile["buffers"] = json!({ "receive": "16000 bytes" });
        self.add("slow reader", both_ways, slow);
        self.profile = profile;
    }
}
