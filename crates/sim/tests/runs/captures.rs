//! Captures of simulated runs, judged by a program that is not ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{hurtig, modelled_profiles, run_with};
use rexmit_sim::RunOptions;
use serde_json::{Value, json};

/// tshark's answer, or `None` where it is not installed and need not be.
fn tshark(capture: &Path, filter: &str, field: &str) -> Option<Vec<String>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(capture).args(["-Y", filter, "-T", "fields", "-e", field]);
    for protocol in ["ip", "tcp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    command.args(["-o", "sctp.checksum:TRUE"]);
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect())
        }
        Err(_) => {
            let required = std::env::var("REXMIT_REQUIRE_ALL").is_ok_and(|v| v == "1");
            assert!(!required, "tshark is missing, and REXMIT_REQUIRE_ALL=1 asks for every check");
            eprintln!("skipped: tshark is not installed (apt-get install tshark)");
            None
        }
    }
}

fn capture(name: &str, scenario: Value) -> (PathBuf, [PathBuf; 2]) {
    let dir = std::env::temp_dir().join(format!("rexmit-captures-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let files = [dir.join("server.pcapng"), dir.join("client.pcapng")];
    let options =
        RunOptions { capture_files: files.iter().cloned().map(Some).collect(), ..RunOptions::default() };
    let row = run_with(scenario, &options).row;
    assert!(row.completed, "{:?}", row.error);
    (dir, files)
}

const WRONG: &str = "_ws.malformed || tcp.checksum.status == \"Bad\" || ip.checksum.status == \"Bad\" || \
                     sctp.checksum.status == \"Bad\"";

#[test]
fn every_profile_writes_captures_without_a_wrong_packet() {
    for profile in modelled_profiles() {
        let mut scenario = hurtig("1 Mbit/s", "20 ms", 9);
        for host in ["server", "client"] {
            scenario["hosts"][host]["stack"] = json!(profile);
        }
        scenario["path"]["down"] = json!({ "drop": "9,14", "loss": "3 %", "duplicate": 6 });
        scenario["path"]["up"] = json!({ "jitter": { "spread": "5 ms", "reorder": true } });
        let (dir, files) = capture(profile, scenario);
        for file in &files {
            let Some(wrong) = tshark(file, WRONG, "frame.number") else { return };
            assert!(wrong.is_empty(), "{profile}: {wrong:?}");
            let all = tshark(file, "tcp || sctp", "frame.number").unwrap_or_default();
            assert!(all.len() > 30, "{profile}: {}", all.len());
        }
        std::fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
fn only_the_damaged_packet_has_a_bad_checksum() {
    let mut scenario = hurtig("1 Mbit/s", "20 ms", 0);
    scenario["path"]["down"] = json!({ "corrupt": 7 });
    let (dir, [server, client]) = capture("corrupt", scenario);
    let Some(bad) = tshark(&client, WRONG, "tcp.checksum.status") else { return };
    assert_eq!(bad, ["0"]);
    assert!(tshark(&server, WRONG, "frame.number").unwrap_or_default().is_empty());
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_drop_is_told_at_the_sender_and_missing_at_the_receiver() {
    let (dir, [server, client]) = capture("drop", hurtig("1 Mbit/s", "20 ms", 9));
    let Some(comments) = tshark(&server, "frame.comment", "frame.comment") else { return };
    assert_eq!(comments, ["dropped by pattern at position 9"]);
    let count = |file, side: &str| {
        tshark(file, &format!("ip.src == {side}"), "frame.number").unwrap_or_default().len()
    };
    assert_eq!(count(&server, "10.0.2.1"), count(&client, "10.0.2.1") + 1);
    assert_eq!(count(&server, "10.0.1.1"), count(&client, "10.0.1.1"));
    let interface = tshark(&server, "frame.number == 1", "frame.interface_name").unwrap_or_default();
    assert_eq!(interface, ["server"]);
    std::fs::remove_dir_all(dir).unwrap();
}
