//! What a page is answered: a block whose rows are those of the run, captures, and one line for what is wrong.

use rexmit_sim::{Resolved, RunOptions, Streams, run};
use rexmit_web::answer;
use serde_json::{Value, json};

fn scenario(drop: u64) -> Value {
    json!({
        "hosts": { "server": { "stack": "linux-6.1" }, "client": { "stack": "linux-6.1" } },
        "path": { "rate": "1 Mbit/s", "delay": "20 ms", "queue": "50 packets", "down": { "drop": drop } },
        "transfers": [{ "from": "server", "to": "client", "writes": "1 x 28960 bytes" }],
    })
}

/// A block, taken apart.
struct Block {
    front: Value,
    data: Vec<u8>,
}

impl Block {
    fn of(scenario: &Value) -> Self {
        let bytes = answer(json!({ "scenario": scenario }).to_string().as_bytes()).expect("it is answered");
        let length = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
        Self {
            front: serde_json::from_slice(&bytes[8..8 + length]).unwrap(),
            data: bytes[8 + length..].to_vec(),
        }
    }

    fn numbers(&self, table: &str, column: &str) -> Vec<f64> {
        let layout = &self.front["tables"][table][column];
        let (at, count) =
            (layout["at"].as_u64().unwrap() as usize, layout["count"].as_u64().unwrap() as usize);
        self.data[at..at + 8 * count].chunks(8).map(|c| f64::from_le_bytes(c.try_into().unwrap())).collect()
    }
}

#[test]
fn a_block_has_what_the_run_did() {
    let block = Block::of(&scenario(18));
    let outcome = run(
        &Resolved::from_value(scenario(18)).unwrap(),
        &Streams::new(1, ""),
        &RunOptions { verdicts: true, ..RunOptions::default() },
    )
    .unwrap();
    let head = &block.front["head"];
    assert_eq!(head["responses"]["time_ns"], json!(outcome.row.time_ns));
    assert_eq!(head["views"][0]["groups"][1], json!({ "cause": "fast", "needed": true, "again": true }));
    // A row for each packet of the server, and the stream whole: the SYN, 28,960 bytes, the FIN.
    let (jump, span) = (block.numbers("1-server.packets", "jump"), block.numbers("1-server.packets", "span"));
    assert_eq!(jump.len() as u64, outcome.row.packets_down.unwrap());
    let new: f64 = jump.iter().zip(&span).filter(|(jump, _)| **jump >= 0.0).map(|(_, span)| span).sum();
    assert_eq!(new, 28_962.0);
    assert_eq!(
        block.front["tables"]["1-server.packets"]["lost"]["words"][1],
        "dropped by pattern at position 18"
    );
    // What SACK has reported is not outstanding: some, and never more than was sent.
    let less = block.numbers("1-server.packets", "less");
    assert!(less.iter().any(|less| *less > 0.0) && less.iter().all(|less| (0.0..28_962.0).contains(less)));
    assert_eq!(block.numbers("verdicts", "t").len(), outcome.verdicts.len());
    // It came again a round trip and three duplicates later.
    let delay = block.numbers("1-server.again", "previous");
    assert_eq!(delay.len(), 1);
    assert!((0.04..0.4).contains(&delay[0]), "{delay:?}");
}

#[test]
fn the_last_packet_waits_for_the_timer_and_the_block_says_so() {
    let mut last = scenario(21);
    last["hosts"]["server"]["stack"] = json!("linux-6.1-no-rack");
    let block = Block::of(&last);
    let groups = &block.front["head"]["views"][0]["groups"];
    assert_eq!(groups[1]["cause"], "timeout");
    let why = &block.front["tables"]["1-server.again"]["why"]["words"][0];
    assert_eq!(why, "the timer expired, expiry 1 in a row");
}

#[test]
fn what_is_wrong_is_one_line() {
    let told = |request: Value| answer(request.to_string().as_bytes()).unwrap_err();
    let mut wrong = scenario(1);
    wrong["path"]["rate"] = json!("1 Mbit");
    assert_eq!(told(json!({ "scenario": wrong })), "path.rate: \"1 Mbit\" is not a rate: write Mbit/s");
    let mut other = scenario(1);
    other["hosts"]["server"]["code"] = json!("quinn");
    assert!(told(json!({ "scenario": other })).contains("known here: model"));
    let twice = json!([scenario(1)["transfers"][0], scenario(1)["transfers"][0]]);
    let mut two = scenario(1);
    two["transfers"] = twice;
    assert!(told(json!({ "scenario": two })).starts_with("a block is drawn of one transfer"));
    assert!(told(json!({ "scenery": {} })).starts_with("the request: unknown field `scenery`"));
}
