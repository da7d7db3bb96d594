use serde_json::{Value, json};

use super::{about_network, variable};

fn dumbbell() -> Value {
    json!({
        "hosts": {
            "reader": { "at": "left", "count": 2, "linux": { "nagle": false } },
            "sink": { "at": "right", "access": { "delay": "1 ms" } },
        },
        "links": { "middle": { "between": ["left", "right"] } },
        "transfers": [{ "from": "sink", "to": "reader", "bulk": "1 s" }],
    })
}

#[test]
fn hosts_need_no_stack_and_links_say_whether_they_are_written() {
    let about = about_network(dumbbell()).unwrap();
    let hosts = about["hosts"].as_array().unwrap();
    let names: Vec<_> = hosts.iter().map(|host| [&host["name"], &host["written"]]).collect();
    assert_eq!(json!(names), json!([["reader-1", "reader"], ["reader-2", "reader"], ["sink", "sink"]]));
    assert_eq!(hosts.first().unwrap()["variable"], "REXMIT_HOST_READER_1");
    let links = about["links"].as_array().unwrap().iter();
    let silent: Vec<_> = links.filter(|link| link["written"] == false).map(|link| &link["name"]).collect();
    assert_eq!(json!(silent), json!(["reader-1/up", "reader-1/down", "reader-2/up", "reader-2/down"]));
    assert_eq!(about["left_out"], json!(["transfers", "hosts.reader.linux.nagle"]));
}

#[test]
fn what_cannot_be_emulated_is_refused_by_its_key() {
    let cases = [
        ("/hosts/sink/program", json!("true"), "hosts.sink.program: hosts of a network run none"),
        ("/hosts/reader/count", json!(250), "hosts: 251 hosts: at most 250"),
        ("/links/middle/emulator", json!("netem"), "links.middle.emulator: a network has rexmit's own"),
        ("/hosts/SINK", json!({ "at": "left" }), "would both have the variable REXMIT_HOST_SINK"),
    ];
    for (key, value, text) in cases {
        let mut scenario = dumbbell();
        let (table, name) = key.rsplit_once('/').unwrap();
        scenario.pointer_mut(table).unwrap()[name] = value;
        let told = about_network(scenario).unwrap_err().to_string();
        assert!(told.contains(text), "{key}: {told}");
    }
    let two = json!({ "hosts": { "server": {}, "client": {} } });
    assert!(about_network(two).unwrap_err().to_string().contains("not hosts of a network"));
}

#[test]
fn a_variable_has_letters_that_shells_take() {
    assert_eq!(variable("reader-12"), "REXMIT_HOST_READER_12");
}
