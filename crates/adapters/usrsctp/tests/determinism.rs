//! A run is a function of its configuration: the same bytes whatever ran before, in whichever process or thread.

#![cfg(test)]

mod common;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;

use common::{CLIENT, Pair, SERVER, configs};
use rexmit_stack::Delivery;
use rexmit_units::Duration;
use rexmit_usrsctp::UsrsctpConfig;

/// Set in the process that a test starts, which prints its digest.
const CHILD: &str = "REXMIT_USRSCTP_TEST_CHILD";

/// A digest of all packets with their times and reasons of a run with losses on both sides.
fn digest(seed: u64, phase_us: u64) -> u64 {
    let settings = UsrsctpConfig::default();
    let ends = configs(&settings).map(|mut end| {
        end.seed += 10 * seed;
        end
    });
    let mut pair = Pair::with(Duration::from_micros(phase_us), &ends);
    pair.connect();
    pair.loses = Box::new(|from, number, _| number % if from == CLIENT { 17 } else { 29 } == 7);
    for stream in 0..5 {
        let how = Delivery { stream, unordered: stream == 4, ..Delivery::default() };
        pair.to_write[CLIENT].extend(vec![(700 + 300 * u64::from(stream), how); 60]);
    }
    pair.to_write[SERVER] = vec![(100, Delivery::default()); 50];
    pair.write(CLIENT);
    pair.write(SERVER);
    while (!pair.to_write[CLIENT].is_empty() || pair.bytes_read(SERVER) < 60 * 6_500) && pair.step() {}
    pair.close(CLIENT);
    while pair.step() {}
    assert_eq!(pair.ends.values().map(rexmit_usrsctp::Association::misplaced_bytes).sum::<u64>(), 0);
    assert!(pair.ends[CLIENT].counters().retransmits > 0);
    let mut hasher = DefaultHasher::new();
    for sent in &pair.log {
        (sent.at.as_nanos(), sent.from, &sent.bytes, sent.reason).hash(&mut hasher);
    }
    hasher.finish()
}

#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn runs_in_a_row_and_in_a_fresh_process_are_the_same() {
    if std::env::var_os(CHILD).is_some() {
        println!("digest {:016x}", digest(1, 300));
        return;
    }
    let first = digest(1, 300);
    // A run that is broken off in the middle must leave nothing either.
    let mut broken =
        Pair::new(&UsrsctpConfig { rto_min: Duration::from_millis(10), ..UsrsctpConfig::default() });
    broken.connect();
    broken.to_write[CLIENT] = vec![(1_400, Delivery::default()); 100];
    broken.write(CLIENT);
    drop(broken);
    assert_eq!(digest(1, 300), first);
    assert_eq!(digest(1, 300), first);
    assert_eq!(std::thread::spawn(|| digest(1, 300)).join().unwrap(), first);
    for _ in 0..2 {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "runs_in_a_row_and_in_a_fresh_process_are_the_same", "--nocapture"]);
        let said = child.env(CHILD, "1").output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.contains(&format!("digest {first:016x}")), "{said}");
    }
}

#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn seeds_and_phases_matter() {
    assert_ne!(digest(1, 0), digest(2, 0));
    assert_ne!(digest(1, 0), digest(1, 500));
}

#[test]
#[cfg_attr(not(usrsctp), ignore = "libusrsctp-dev was not there when this was built")]
fn threads_take_turns() {
    let alone = digest(3, 0);
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| digest(3, 0))).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), alone);
    }
}
