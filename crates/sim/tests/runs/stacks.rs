//! Third-party stacks of the registry: the same scenarios as the model's, against themselves and against the model.

use crate::common::{run_once, run_with};
use rexmit_network::ConnectionId;
use rexmit_network::two_hosts::{DOWN, SERVER, UP};
use rexmit_sim::{Plan, Resolved, RunOptions, SOURCES, StackFactory, Target, registry};
use serde_json::{Value, json};

/// The stacks of third parties that are here; that each is asked for where every check is. Not Linux: who has built a kernel
/// says how it is booted, and tests it (`tests/python/test_kernel_stacks.py`). Nor programs, which are built once that is asked
/// for (`tests/python/test_stacks.py`).
fn third_parties() -> Vec<&'static dyn StackFactory> {
    let is_program = |name: &str| SOURCES.iter().any(|source| source.name == name);
    let foreign = |entry: &&dyn StackFactory| {
        let about = entry.about();
        about.version.is_some() && !about.is_linux && !is_program(about.name)
    };
    let entries = registry().entries().iter().copied().filter(foreign);
    let (here, missing): (Vec<_>, Vec<_>) = entries.partition(|entry| entry.missing().is_none());
    for entry in missing {
        let required = std::env::var("REXMIT_REQUIRE_ALL").is_ok_and(|v| v == "1");
        let told = format!("{}: {}", entry.about().name, entry.missing().unwrap_or_default());
        assert!(!required, "{told}, and REXMIT_REQUIRE_ALL=1 asks for every check");
        eprintln!("skipped: {told}");
    }
    here
}

fn profile(protocol: &str) -> &'static str {
    match protocol {
        "sctp" => "rfc9260",
        "quic" => "rfc9000",
        _ => "rfc-2014",
    }
}

/// The stacks of protocols that a model speaks as well.
fn modelled() -> Vec<&'static dyn StackFactory> {
    third_parties().into_iter().filter(|entry| !entry.about().protocols.contains(&"quic")).collect()
}

/// Those that hang in closing once enough is lost, by a defect of their own that the docs of their adapter tell.
const HANG_IN_CLOSING: [&str; 1] = ["smoltcp"];

/// A stack against itself, and against the model where there is one of its protocol.
fn pairs(name: &'static str, protocol: &str) -> Vec<[&'static str; 2]> {
    let mut pairs = vec![[name, name]];
    if protocol != "quic" {
        pairs.extend([["model", name], [name, "model"]]);
    }
    pairs
}

fn scenario(protocol: &str, codes: [&str; 2], path: Value, transfer: Value) -> Value {
    let [server, client] = codes.map(|code| json!({ "stack": profile(protocol), "code": code }));
    json!({ "hosts": { "server": server, "client": client }, "path": path, "transfers": [transfer], "messages": true })
}

/// What any stack can do, and what one with messages can.
fn transfers(protocol: &str) -> Vec<Value> {
    let mut transfers = vec![
        json!({ "from": "server", "to": "client", "writes": "200 x 100 bytes", "pause": "250 ms" }),
        json!({ "from": "client", "to": "server", "bulk": "2 MB", "write_size": "1400 bytes" }),
        json!({ "from": "server", "to": "client", "writes": "50 x 6000 bytes" }),
    ];
    if protocol == "sctp" {
        transfers
            .push(json!({ "from": "server", "to": "client", "writes": "50 x 6000 bytes", "streams": 3 }));
        transfers.push(
            json!({ "from": "server", "to": "client", "bulk": "300 kB", "write_size": "500 bytes", "unordered": true }),
        );
        transfers.push(
            json!({ "from": "client", "to": "server", "writes": "200 x 3000 bytes", "unordered": true, "streams": 7 }),
        );
    }
    transfers
}

/// One run after the other in this process, every byte in its place, and the same again.
#[test]
fn the_same_scenarios_against_itself_and_against_the_model() {
    let path = json!({ "delay": "20 ms", "down": { "loss": "5 %" }, "up": { "loss": "5 %" } });
    let options = RunOptions { captures: true, verdicts: true, transmissions: true, ..RunOptions::default() };
    for entry in third_parties() {
        let name = entry.about().name;
        for protocol in entry.about().protocols {
            for codes in pairs(name, protocol) {
                for mut transfer in transfers(protocol) {
                    if HANG_IN_CLOSING.contains(&name) {
                        transfer["close"] = json!(false);
                    }
                    let told = format!("{codes:?} {transfer}");
                    let value = scenario(protocol, codes, path.clone(), transfer);
                    let run = || run_with(value.clone(), &options);
                    let (first, second) = (run(), run());
                    assert!(first.row.completed, "{told}: {:?}", first.row.error);
                    assert!(first.row.retransmits > 0, "{told}");
                    assert_eq!(first.row.error, None, "{told}");
                    assert_eq!(first.row.messages[0].written, first.row.messages[0].delivered, "{told}");
                    assert!(!first.verdicts.is_empty() && !first.captures[SERVER].is_empty(), "{told}");
                    assert!(first.captures == second.captures, "{told}: another run is another");
                }
            }
        }
    }
}

/// Whoever sends: each packet in the log is of its connection, and holds the data that it holds.
#[test]
fn verdicts_know_the_connections_and_the_data_of_all_packets() {
    let path = json!({ "rate": "10 Mbit/s", "delay": "20 ms" });
    let transfer = |from: &str, to: &str| json!({ "from": from, "to": to, "writes": "40 x 1400 bytes" });
    for entry in modelled() {
        let (name, protocol) = (entry.about().name, entry.about().protocols[0]);
        for codes in pairs(name, protocol) {
            let mut value = scenario(protocol, codes, path.clone(), transfer("server", "client"));
            value["transfers"] = json!([transfer("server", "client"), transfer("client", "server")]);
            let outcome = run_with(value, &RunOptions { verdicts: true, ..RunOptions::default() });
            assert_eq!((outcome.row.error, outcome.row.retransmits), (None, 0), "{codes:?}");
            let data = |connection: u32, link| -> u64 {
                let own = outcome.verdicts.iter().filter(|row| row.link == link);
                let own = own.filter(|row| row.connection == Some(ConnectionId::new(connection)));
                own.map(|row| u64::from(row.row.packet.payload)).sum()
            };
            assert!(outcome.verdicts.iter().all(|row| row.connection.is_some()), "{codes:?}");
            assert_eq!((data(0, DOWN), data(0, UP)), (56_000, 0), "{codes:?}");
            assert_eq!((data(1, DOWN), data(1, UP)), (0, 56_000), "{codes:?}");
        }
    }
}

/// Messages without order are where they belong whoever reads them: the one that is lost is late, those behind are not.
#[test]
fn a_lost_message_without_order_holds_up_no_other() {
    for entry in third_parties().into_iter().filter(|entry| entry.about().protocols.contains(&"sctp")) {
        let name = entry.about().name;
        for codes in [["model", name], [name, "model"]] {
            let transfer = json!({ "from": "server", "to": "client", "writes": "40 x 2000 bytes", "pause": "50 ms",
                                   "unordered": true });
            let path = json!({ "delay": "20 ms", "down": { "drop": { "time": "500 ms-549 ms" } } });
            let options = RunOptions { messages: true, ..RunOptions::default() };
            let outcome = run_with(scenario("sctp", codes, path, transfer), &options);
            assert_eq!(outcome.row.error, None, "{codes:?}");
            assert_eq!(outcome.row.drops_down.unwrap(), 2, "{codes:?}: both fragments of a message");
            let latency =
                |message: &rexmit_scenario::Message| message.delivered.expect("all arrive") - message.written;
            let limit = rexmit_units::Duration::from_millis(25);
            let lost = outcome.messages.iter().position(|one| latency(one) > limit).expect("one is late");
            assert!(latency(&outcome.messages[lost]) > limit * 4, "{codes:?}: {:?}", outcome.messages[lost]);
            let behind = &outcome.messages[lost + 1..lost + 3];
            assert!(behind.iter().all(|one| latency(one) < limit), "{codes:?}: {behind:?}");
        }
    }
}

/// The model's packets to another's code have their rows: what was sent again, and whether that was needed.
#[test]
fn the_model_s_packets_are_followed_to_another_s_code() {
    for entry in modelled() {
        let name = entry.about().name;
        for protocol in entry.about().protocols {
            let transfer =
                json!({ "from": "server", "to": "client", "bulk": "200 kB", "write_size": "1400 bytes" });
            let path = json!({ "delay": "20 ms", "down": { "drop": [20, 40, 41] } });
            let options = RunOptions { transmissions: true, ..RunOptions::default() };
            let outcome = run_with(scenario(protocol, ["model", name], path, transfer), &options);
            let again: Vec<_> = outcome.transmissions.iter().filter(|row| row.transmission > 1).collect();
            assert!(outcome.transmissions.iter().all(|row| row.host == SERVER), "{name}");
            assert!(
                again.iter().filter(|row| row.earlier == rexmit_sim::Earlier::Lost).count() >= 3,
                "{name}: {again:?}"
            );
            assert_eq!(outcome.row.retransmits as usize, again.len(), "{name}");
        }
    }
}

/// Which host has which code is a factor like any other, and a plan knows which stacks its runs need.
#[test]
fn the_code_of_a_host_is_a_factor() {
    for entry in modelled() {
        let (name, protocol) = (entry.about().name, entry.about().protocols[0]);
        let transfer = json!({ "from": "server", "to": "client", "writes": "20 x 1000 bytes" });
        let mut base = scenario(protocol, ["model", "model"], json!({ "delay": "10 ms" }), transfer);
        base["hosts"]["client"].as_object_mut().unwrap().remove("code");
        let factors = vec!["hosts.client.code".to_string()];
        let plan = Plan::new(base.clone(), factors, vec![vec![json!("model"), json!(name)]]).unwrap();
        let names = |plan: &Plan| plan.stacks().iter().map(|stack| stack.about().name).collect::<Vec<_>>();
        let mut in_order = ["model", name];
        in_order.sort_unstable();
        assert_eq!(names(&plan), in_order);
        plan.check(0..2, Target::Virtual).unwrap();
        let options = rexmit_sim::BatchOptions { replications: 2, seed: 1, jobs: 2 };
        let rows = plan.run(0..4, options).unwrap().rows;
        assert!(rows.iter().all(|row| row.completed), "{name}");
        let both = registry().with_default(name).unwrap();
        let short = Plan::new(base, Vec::new(), Vec::new()).unwrap().with_stacks(both);
        assert_eq!(names(&short), in_order, "the server has said what it wants");
    }
}

/// Settings of code that a host has in no run are told, as are those of real kernels; a real kernel has no such code.
#[test]
fn settings_of_code_that_no_run_has_are_told() {
    let writes = json!({ "from": "server", "to": "client", "writes": "10 bytes" });
    for entry in modelled().into_iter().filter(|entry| entry.about().settings.is_some()) {
        let (name, protocol) = (entry.about().name, entry.about().protocols[0]);
        let schema = entry.about().settings.expect("it has settings")();
        let of_bool = |(_, value): &(&String, &Value)| value["type"].to_string().contains("boolean");
        let key = schema["properties"].as_object().unwrap().iter().find(of_bool).expect("one is a switch").0;
        let mut base = scenario(protocol, ["model", "model"], json!({ "delay": "10 ms" }), writes.clone());
        base["hosts"]["client"][name] = json!({ key: true });
        let told = |base: &Value, factor: &str, levels: Value, on| {
            let levels = vec![levels.as_array().unwrap().clone()];
            let plan = Plan::new(base.clone(), vec![factor.to_string()], levels).unwrap();
            plan.check(0..2, on).unwrap().unsupported
        };
        let (both, setting) = (json!(["model", name]), format!("hosts.client.{name}.{key}"));
        assert_eq!(
            told(&base, "hosts.client.mtu", json!([1500, 1400]), Target::Virtual),
            std::slice::from_ref(&setting)
        );
        assert_eq!(
            told(&base, "hosts.server.code", both.clone(), Target::Virtual),
            std::slice::from_ref(&setting)
        );
        assert_eq!(told(&base, "hosts.client.code", both, Target::Virtual), [""; 0]);
        assert!(told(&base, "hosts.client.mtu", json!([1500, 1400]), Target::Kernel).contains(&setting));
    }
}

#[test]
fn a_code_that_lacks_the_protocol_or_that_nobody_knows_is_refused() {
    let transfer = json!({ "from": "server", "to": "client", "writes": "10 bytes" });
    let refused = |value: Value| Resolved::from_value(value).unwrap_err().to_string();
    for entry in registry().entries().iter().filter(|entry| entry.about().protocols == ["sctp"]) {
        let name = entry.about().name;
        if name == "model" {
            continue;
        }
        let told = refused(scenario("tcp", [name, "model"], json!({}), transfer.clone()));
        let text =
            format!("the stack {name} speaks SCTP, and this profile is of TCP: give the hosts one of SCTP");
        assert_eq!(told, format!("hosts.server.code: {text}"));
    }
    let told = refused(scenario("tcp", ["model", "modell"], json!({}), transfer));
    assert!(told.starts_with("hosts.client.code: unknown code `modell`: did you mean `model`?"), "{told}");
}

/// Who names no code has the model's, whatever else the registry has.
#[test]
fn the_model_is_what_a_host_has_that_chooses_nothing() {
    let transfer = json!({ "from": "server", "to": "client", "writes": "10 x 1000 bytes" });
    let named = scenario("tcp", ["model", "model"], json!({ "delay": "10 ms" }), transfer);
    let mut plain = named.clone();
    for host in ["server", "client"] {
        plain["hosts"][host].as_object_mut().unwrap().remove("code");
    }
    assert_eq!(run_once(named).row, run_once(plain).row);
}
