//! Wireshark's dissectors as the judge of what we write.

use std::process::Command;

use crate::common;
use rexmit_capture::{DEFAULT_EPOCH_NS, Direction, Options, Reader, Writer};
use rexmit_units::Instant;

/// False, with a printed reason, where tshark is missing; a failure where `REXMIT_REQUIRE_ALL=1`.
fn tshark_is_there() -> bool {
    if Command::new("tshark").arg("--version").output().is_ok_and(|o| o.status.success()) {
        return true;
    }
    let required = std::env::var("REXMIT_REQUIRE_ALL").is_ok_and(|v| v == "1");
    assert!(!required, "tshark is missing, and REXMIT_REQUIRE_ALL=1 asks for every check");
    eprintln!("skipped: tshark is not installed (apt-get install tshark)");
    false
}

/// The given fields of every packet that passes `filter`.
fn fields(path: &std::path::Path, filter: &str, names: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(path).args(["-Y", filter, "-T", "fields"]);
    for protocol in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    for name in names {
        command.args(["-e", name]);
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    // Running as root is no fault of the capture.
    let complaint = errors.lines().find(|l| !l.is_empty() && !l.contains("root"));
    assert_eq!(complaint, None);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').map(String::from).collect()).collect()
}

#[test]
fn wireshark_finds_nothing_wrong_but_the_damage_asked_for() {
    if !tshark_is_there() {
        return;
    }
    for ipv6 in [false, true] {
        let path = std::env::temp_dir().join(format!("rexmit-tshark-{ipv6}-{}.pcapng", std::process::id()));
        let events = common::connection(ipv6);
        let options = Options {
            os: Some("freebsd-6.0".into()),
            hardware: Some("virtual time".into()),
            comment: Some("hurtig-2006/short, run 18".into()),
            ..Options::default()
        };
        let mut capture =
            Writer::with_options(std::fs::File::create(&path).unwrap(), "server", &options).unwrap();
        for event in &events {
            let direction = event.packet.tcp().map(|tcp| match tcp.src_port {
                5_000 => Direction::Outbound,
                _ => Direction::Inbound,
            });
            capture.write_directed(event.time, &event.packet, direction, event.comment).unwrap();
        }
        capture.finish().unwrap();

        let none: [Vec<String>; 0] = [];
        assert_eq!(fields(&path, "_ws.malformed || _ws.short || _ws.unreassembled", &["frame.number"]), none);
        // 1 is good, 0 is bad; the fourth packet is the damaged one.
        let bad = "ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0";
        assert_eq!(
            fields(&path, bad, &["frame.number", "frame.comment"]),
            [["4", events[3].comment.unwrap()]]
        );
        let good = fields(&path, "tcp.checksum.status == 1 || udp.checksum.status == 1", &["frame.number"]);
        assert_eq!(good.len(), events.len() - 1);

        // The fields that it sees are those that were meant.
        let names = ["frame.time_epoch", "frame.interface_name", "frame.len", "tcp.seq_raw", "tcp.len"];
        let rows = fields(&path, "tcp", &names);
        assert_eq!(rows.len(), events.len() - 1);
        for (row, event) in rows.iter().zip(&events) {
            let tcp = event.packet.tcp().unwrap();
            assert_eq!(row[0], epoch_text(event.time));
            assert_eq!(row[1], "server");
            assert_eq!(row[2], event.packet.ip_len().to_string());
            assert_eq!(row[3], tcp.seq.0.to_string());
            assert_eq!(row[4], tcp.payload.len().to_string());
        }
        let syn = fields(
            &path,
            "tcp.flags.syn == 1",
            &[
                "tcp.options.mss_val",
                "tcp.options.wscale.shift",
                "tcp.options.sack_perm",
                "tcp.options.timestamp.tsval",
            ],
        );
        assert_eq!(syn.len(), 2);
        assert_eq!((syn[0][0].as_str(), syn[0][1].as_str()), ("1460", "1"));
        let edges = ["tcp.options.sack_le", "tcp.options.sack_re"];
        let sack = fields(&path, "tcp.options.sack_le", &edges);
        assert_eq!(sack.len(), 1);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn what_wireshark_writes_is_read() {
    if !tshark_is_there() {
        return;
    }
    let events = common::connection(false);
    let folder = std::env::temp_dir().join(format!("rexmit-editcap-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let ours = folder.join("ours.pcapng");
    let mut capture = Writer::new(std::fs::File::create(&ours).unwrap(), "server").unwrap();
    for event in &events {
        capture.write_packet(event.time, &event.packet, event.comment).unwrap();
    }
    capture.finish().unwrap();
    // Its converter comes with it.
    for (format, grain_ns) in [("pcap", 1_000), ("nsecpcap", 1), ("pcapng", 1)] {
        let theirs = folder.join(format);
        let status = Command::new("editcap").args(["-F", format]).args([&ours, &theirs]).status().unwrap();
        assert!(status.success(), "{format}");
        let file = std::fs::File::open(&theirs).unwrap();
        let records: Vec<_> = Reader::new(file).unwrap().map(Result::unwrap).collect();
        assert_eq!(records.len(), events.len(), "{format}");
        for (record, event) in records.iter().zip(&events) {
            let time = DEFAULT_EPOCH_NS + event.time.as_nanos();
            assert_eq!(record.time.as_nanos(), time / grain_ns * grain_ns, "{format}");
            assert_eq!(record.data, event.packet.emit(), "{format}");
            // Classic pcap has no comments.
            let comment = event.comment.filter(|_| format == "pcapng");
            assert_eq!(record.comment.as_deref(), comment, "{format}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Seconds since 1970 with nine decimals, as tshark prints them.
fn epoch_text(time: Instant) -> String {
    let ns = DEFAULT_EPOCH_NS + time.as_nanos();
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}
