//! Counts of retransmissions beside the single ones, of SCTP that our own model did not make (see
//! `tests/captures/README.md`).

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use rexmit_analysis::repeats::{Class, Repeated, Repeats, Sums, Watcher};
use rexmit_analysis::rows::{Need, SideName};
use rexmit_analysis::sctp::{Delay, Group, SctpRetransmissionRow, SctpRows, TraceClass, delays};
use rexmit_analysis::{Options, Run, RunOptions};
use rexmit_capture::Reader;
use rexmit_units::Instant;
use rexmit_wire::{IpFields, Packet, Transport, sctp};

const SCENARIOS: [&str; 5] = ["thin", "thin-heavy-loss", "bursts-of-four", "thick", "small-messages"];

fn reader(scenario: &str) -> Reader<File> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/usrsctp");
    Reader::new(File::open(folder.join(format!("{scenario}.sender.pcap.gz"))).unwrap()).unwrap()
}

fn run(scenario: &str, missing_reports: u32) -> Run {
    let analysis = Options { missing_reports, ..Options::default() };
    Run::new(reader(scenario), &RunOptions { analysis, filter: None })
}

fn rows(scenario: &str, missing_reports: u32) -> SctpRows {
    let mut run = run(scenario, missing_reports);
    let mut all = SctpRows::default();
    while let Some(rows) = run.step(10_000) {
        all.associations.extend(rows.sctp.associations);
        all.retransmissions.extend(rows.sctp.retransmissions);
    }
    all
}

/// What `delays`, which has each sample, says of a number and a class.
fn expected(rows: &[SctpRetransmissionRow], delay: Delay) -> BTreeMap<(u32, TraceClass), (u64, [f64; 4])> {
    let of = |row: rexmit_analysis::sctp::DelayRow| match row.group {
        Group::Class(class) => {
            let spread = row.delay;
            let figures = [spread.min, spread.max, spread.mean, spread.sd];
            Some(((row.retransmission, class), (spread.count, figures)))
        }
        _ => None,
    };
    delays(rows.iter(), delay).into_iter().filter_map(of).collect()
}

#[test]
fn counts_are_those_of_the_single_retransmissions() {
    for scenario in SCENARIOS {
        for missing_reports in [1, 3, 4] {
            let all = rows(scenario, missing_reports);
            assert!(all.retransmissions.iter().all(|row| row.side == SideName::Client), "it alone sends");
            let found = Repeats::of(run(scenario, missing_reports));
            for (delay, sums) in [
                (Delay::Cumulative, (|one| &one.counts.cumulative) as fn(&Repeated) -> &Sums),
                (Delay::Consecutive, |one| &one.counts.consecutive),
            ] {
                let expected = expected(&all.retransmissions, delay);
                assert_eq!(found.len(), expected.len(), "{scenario}");
                for one in &found {
                    let Class::Sctp(class) = one.class else { panic!("{one:?}") };
                    let (count, figures) = expected[&(one.number, class)];
                    let ((min, max), sums) = (sums(one).range(), sums(one));
                    assert_eq!(one.counts.count, count, "{scenario} {one:?}");
                    for (ours, exact) in
                        [min as f64, max as f64, sums.mean(), sums.deviation()].iter().zip(figures)
                    {
                        assert!(
                            (ours - exact).abs() <= 1e-6 * exact.max(1.0),
                            "{scenario} {one:?} {figures:?}"
                        );
                    }
                }
            }
            let needless =
                |row: &&SctpRetransmissionRow| matches!(row.need, Need::Spurious | Need::Unnecessary);
            let not_needed: u64 = found.iter().map(|one| one.counts.not_needed).sum();
            assert_eq!(not_needed, all.retransmissions.iter().filter(needless).count() as u64);
        }
    }
}

/// Chunks behind another one in packets of fast retransmits: usrsctp bundles what is marked with it.
#[test]
fn chunks_bundled_into_fast_retransmits_are_counted_in_any_class() {
    let mut bundled = Vec::new();
    for missing_reports in [1, 3] {
        let mut by_packet: BTreeMap<u64, Vec<TraceClass>> = BTreeMap::new();
        for row in rows("bursts-of-four", missing_reports).retransmissions {
            by_packet.entry(row.number).or_default().push(row.class);
        }
        let fast = by_packet.values().filter(|classes| classes[0] == TraceClass::Fast);
        let further: usize = fast.map(|classes| classes.len() - 1).sum();
        let found = Repeats::of(run("bursts-of-four", missing_reports));
        bundled.push(found.iter().map(|one| one.counts.bundled_in_fast).sum::<u64>());
        assert_eq!(bundled.last().copied(), Some(further as u64));
    }
    assert!(bundled[0] > 0, "{bundled:?}");
}

/// The packets as values, as a model would send them.
#[test]
fn packets_as_values_are_judged_as_their_bytes() {
    for scenario in SCENARIOS {
        let mut watcher = Watcher::new(&Options::default());
        let mut reader = reader(scenario);
        while let Some(record) = reader.next_ref().unwrap() {
            let ip = rexmit_wire::IpPacket::parse(record.data, record.data.len()).unwrap();
            let packet = Packet {
                src: ip.src,
                dst: ip.dst,
                ip: IpFields { ttl: ip.fields.ttl, tos: ip.fields.tos, ident: ip.fields.ident },
                transport: Transport::Sctp(sctp::Packet::parse(ip.body).unwrap()),
                damaged: false,
            };
            watcher.packet(Instant::from_nanos(record.time.as_nanos()), &packet);
        }
        let found = watcher.finish();
        assert!(!found.is_empty());
        assert_eq!(found, Repeats::of(run(scenario, 3)), "{scenario}");
    }
}
