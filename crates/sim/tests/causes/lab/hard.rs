//! Small scenarios in which a retransmission is easily mistaken for another: one question each.

use serde_json::{Value, json};

use super::cases::Case;
use super::hand::reneging;
use super::ran::Ran;

/// A hard case.
pub struct Hard {
    /// Its name, fit for a file.
    pub name: &'static str,
    /// What makes it hard.
    pub about: &'static str,
    /// The scenario; `None` where the packets are written by hand.
    scenario: Option<Value>,
}

impl Hard {
    /// It as a scenario for the laboratory; `None` where it is written by hand.
    pub fn case(&self) -> Option<Case> {
        Some(Case { name: self.name.into(), scenario: self.scenario.clone()? })
    }

    /// Both captures, and the truth.
    pub fn run(&self) -> Ran {
        self.case().map_or_else(|| reneging(self.name), |case| Ran::new(&case))
    }
}

/// All of them.
pub fn all() -> Vec<Hard> {
    let mut all = losses();
    all.extend(timers_and_details());
    all.extend(thin_streams());
    all.extend(needless());
    all.extend(windows_and_ends());
    all.push(Hard {
        name: "sack-reneging",
        about: "the receiver drops what it had reported by SACK, so all of it is sent again after the timeout",
        scenario: None,
    });
    all
}

fn hard(name: &'static str, about: &'static str, stack: Value, path: Value, transfer: Value) -> Hard {
    let mut transfer = transfer;
    transfer["from"] = json!("server");
    transfer["to"] = json!("client");
    let host = |mtu: u32| json!({ "stack": stack, "mtu": mtu, "tick_phase": "0 s" });
    let scenario = json!({
        "hosts": { "server": host(1500), "client": host(1500) },
        "path": path,
        "transfers": [transfer],
        "limit": "300 s",
    });
    Hard { name, about, scenario: Some(scenario) }
}

/// 10 Mbit/s, with what is done to packets down and up.
fn path(delay: &str, down: Value, up: Value) -> Value {
    json!({ "rate": "10 Mbit/s", "delay": delay, "down": down, "up": up })
}

fn nothing() -> Value {
    json!({})
}

fn bulk(size: &str) -> Value {
    json!({ "bulk": size })
}

fn plain() -> Value {
    json!({ "inherits": "rfc-2014", "options": { "sack": false, "timestamps": false } })
}

/// Losses whose repair depends on what came before.
fn losses() -> Vec<Hard> {
    let segment = |nth: &str| json!({ "match": "data", "nth": nth });
    vec![
        hard(
            "long-rtt",
            "one loss at an RTT of 200 ms: at the receiver the retransmission comes long after the duplicate ACKs",
            json!("rfc-2014"),
            path("100 ms", json!({ "drop": segment("12") }), nothing()),
            bulk("60000 bytes"),
        ),
        hard(
            "short-rtt",
            "one loss at an RTT of 1 ms: the retransmission comes as soon as a packet out of order would",
            json!("rfc-2014"),
            path("500 us", json!({ "drop": segment("12") }), nothing()),
            bulk("60000 bytes"),
        ),
        hard(
            "partial-acks",
            "three losses of a window without SACK: one fast retransmit, then one segment for each partial ACK",
            plain(),
            path("30 ms", json!({ "drop": segment("12,15,18") }), nothing()),
            bulk("60000 bytes"),
        ),
        hard(
            "sack-holes",
            "three losses of a window with SACK: one fast retransmit, the further holes in the same recovery",
            json!("rfc-2014"),
            path("30 ms", json!({ "drop": segment("12,15,18") }), nothing()),
            bulk("60000 bytes"),
        ),
    ]
}

/// Losses that the timer repairs, or that a detail of the sender decides on.
fn timers_and_details() -> Vec<Hard> {
    let again = |segment: u32, nth: &str| json!({ "retransmission": { "segment": segment, "nth": nth } });
    let segment = |nth: &str| json!({ "match": "data", "nth": nth });
    vec![
        hard(
            "lost-retransmission",
            "the fast retransmit is lost too: duplicate ACKs go on, and the timer repairs it",
            json!("rfc-2014"),
            path("30 ms", json!({ "drop": [segment("12"), again(12, "1")] }), nothing()),
            bulk("60000 bytes"),
        ),
        hard(
            "backoff",
            "the retransmissions by the timer are lost as well: the interval doubles",
            json!("freebsd-6.0"),
            path("30 ms", json!({ "drop": [segment("12"), again(12, "1-3")] }), nothing()),
            bulk("60000 bytes"),
        ),
        hard(
            "go-back-n",
            "the end of a window is lost without SACK: after the timeout all of it is sent again",
            plain(),
            path("30 ms", json!({ "drop": segment("32-42") }), nothing()),
            bulk("60000 bytes"),
        ),
        hard(
            "two-duplicates-threshold",
            "a sender that needs two duplicate ACKs, as an option of hurtig-2006's FreeBSD",
            json!({ "inherits": "freebsd-6.0", "recovery": { "dupack_threshold": 2, "limited_transmit": 0 } }),
            path("30 ms", json!({ "drop": segment("15") }), nothing()),
            bulk("25000 bytes"),
        ),
        hard(
            "limited-transmit",
            "a window of four: the third duplicate comes only because two let new segments out",
            json!({ "inherits": "rfc-2014", "initial_window": 4 }),
            path("30 ms", json!({ "drop": segment("1") }), nothing()),
            bulk("12000 bytes"),
        ),
        hard(
            "damaged",
            "a bit error: the packet is in the receiver's capture, its checksum wrong, and is sent again",
            json!("rfc-2014"),
            path("30 ms", json!({ "corrupt": segment("12") }), nothing()),
            bulk("60000 bytes"),
        ),
        hard(
            "ends-twice",
            "the last two of a flow are lost: no ACK comes, and the timer repairs the first, ACKs the second",
            json!("freebsd-6.0"),
            path("30 ms", json!({ "drop": segment("17-18") }), nothing()),
            bulk("25000 bytes"),
        ),
        hard(
            "almost-at-the-end",
            "the last but one is lost: two duplicates at most, so the timer repairs it although ACKs came",
            json!("freebsd-6.0"),
            path("30 ms", json!({ "drop": segment("16") }), nothing()),
            bulk("25000 bytes"),
        ),
    ]
}

/// Few segments in flight.
fn thin_streams() -> Vec<Hard> {
    let thin = |pause: &str, writes: &str| json!({ "writes": writes, "pause": pause });
    let off = |inherits: &str| json!({ "inherits": inherits, "output": { "nagle": "off" } });
    let segment = |nth: &str| json!({ "match": "data", "nth": nth });
    vec![
        hard(
            "thin-timeout",
            "a message each 250 ms at an RTT of 60 ms: one duplicate ACK at most before the timer expires",
            off("freebsd-6.0"),
            path("30 ms", json!({ "drop": segment("6") }), nothing()),
            thin("250 ms", "12 x 100 bytes"),
        ),
        hard(
            "thin-fast",
            "a message each 20 ms at an RTT of 120 ms: three duplicate ACKs come 20 ms apart",
            off("rfc-2014"),
            path("60 ms", json!({ "drop": segment("12") }), nothing()),
            thin("20 ms", "40 x 100 bytes"),
        ),
        hard(
            "repacketised",
            "short messages wait behind two losses; the retransmission carries five of them as one segment, three of which had arrived",
            json!({ "inherits": "freebsd-6.0", "options": { "sack": false }, "output": { "nagle": "off" } }),
            path("30 ms", json!({ "drop": segment("6-7") }), nothing()),
            thin("90 ms", "16 x 100 bytes"),
        ),
    ]
}

/// What need not have been sent again.
fn needless() -> Vec<Hard> {
    let segment = |nth: &str| json!({ "match": "data", "nth": nth });
    let late = |past: u32| json!({ "reorder": { "match": "data", "nth": "14", "past": past } });
    vec![
        hard(
            "reordering-by-two",
            "a segment is overtaken by two: duplicate ACKs, and nothing is sent again",
            json!("rfc-2014"),
            path("30 ms", late(2), nothing()),
            bulk("60000 bytes"),
        ),
        hard(
            "reordering-by-five",
            "a segment is overtaken by five: a fast retransmit that D-SACK proves spurious",
            json!("rfc-2014"),
            path("30 ms", late(5), nothing()),
            bulk("60000 bytes"),
        ),
        hard(
            "reordering-unprovable",
            "the same without SACK and timestamps: only the time of the ACK tells",
            plain(),
            path("30 ms", late(5), nothing()),
            bulk("60000 bytes"),
        ),
        hard(
            "spurious-timeout",
            "the path holds everything back for 1.5 s: the timer expires, and the ACKs of the originals come",
            json!("rfc-2014"),
            path(
                "30 ms",
                json!({ "hold": { "match": "data", "nth": "20", "by": "1500 ms", "keep_order": true } }),
                nothing(),
            ),
            bulk("60000 bytes"),
        ),
        hard(
            "acks-lost",
            "all ACKs of a window are lost: the timer sends again what has long arrived",
            json!("freebsd-6.0"),
            path("30 ms", nothing(), json!({ "drop": { "time": "240 ms-520 ms" } })),
            bulk("60000 bytes"),
        ),
        hard(
            "network-duplicate",
            "the path makes copies of segments: nothing was sent again",
            json!("rfc-2014"),
            path("30 ms", json!({ "duplicate": segment("9-11") }), nothing()),
            bulk("60000 bytes"),
        ),
    ]
}

/// Windows, and what takes no data.
fn windows_and_ends() -> Vec<Hard> {
    let small = json!({ "inherits": "freebsd-6.0", "buffers": { "receive": "16000 bytes" } });
    let segment = |nth: &str| json!({ "match": "data", "nth": nth });
    let reads =
        |bulk: &str, size: &str, rate: &str| json!({ "bulk": bulk, "read": { "size": size, "rate": rate } });
    vec![
        hard(
            "window-updates",
            "the application reads while a hole is open: window updates stand among the duplicate ACKs",
            json!("freebsd-6.0"),
            path("30 ms", json!({ "drop": segment("24") }), nothing()),
            reads("60000 bytes", "3000 bytes", "4 Mbit/s"),
        ),
        hard(
            "zero-window",
            "a reader that pauses: one byte is sent again and again to a closed window",
            small.clone(),
            path("30 ms", nothing(), nothing()),
            reads("40000 bytes", "12000 bytes", "3 kbit/s"),
        ),
        hard(
            "zero-window-loss",
            "the same, and the window update that opens the window is lost",
            small,
            path("30 ms", nothing(), json!({ "drop": { "time": "33 s-34 s" } })),
            reads("40000 bytes", "12000 bytes", "3 kbit/s"),
        ),
        hard(
            "syn-lost",
            "the first SYN is lost: the client's capture holds two, the server's one",
            json!("rfc-2014"),
            path("30 ms", nothing(), json!({ "drop": { "match": "syn", "nth": 1 } })),
            bulk("5000 bytes"),
        ),
        hard(
            "syn-ack-lost",
            "the SYN-ACK is lost: both timers run, and the SYN and the SYN-ACK are sent again",
            json!("rfc-2014"),
            path("30 ms", json!({ "drop": { "match": "syn-ack", "nth": 1 } }), nothing()),
            bulk("5000 bytes"),
        ),
        hard(
            "fin-lost",
            "the client's FIN is lost: it takes a sequence number and carries no data",
            json!("rfc-2014"),
            path("30 ms", nothing(), json!({ "drop": { "match": "fin", "nth": 1 } })),
            bulk("5000 bytes"),
        ),
    ]
}
