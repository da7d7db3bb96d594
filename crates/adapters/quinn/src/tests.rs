//! Two ends, packet by packet.

#[path = "../../../stack/test-support/foreign_pair.rs"]
mod foreign_pair;
#[path = "../../../stack/test-support/quic_ends.rs"]
mod quic_ends;

use foreign_pair::Pair;
use rexmit_stack::{EndSettings, Endpoint, Event, StackEnd};

use crate::config::{Congestion, QuinnConfig};
use crate::end::QuinnEnd;
use crate::factory::end_of;

fn end(n: u64, settings: &EndSettings) -> QuinnEnd {
    end_with(&QuinnConfig { mtu_discovery: false, ..QuinnConfig::default() }, n, settings)
}

fn end_with(config: &QuinnConfig, n: u64, settings: &EndSettings) -> QuinnEnd {
    end_of(config, 1500, n, settings).unwrap()
}

#[test]
fn a_stream_arrives_whole_and_both_ends_close() {
    for congestion in [Congestion::Reno, Congestion::Cubic, Congestion::Bbr] {
        let config = QuinnConfig { congestion, ..QuinnConfig::default() };
        let mut pair = Pair::new(|n, settings| end_with(&config, n, settings), 300_000, &[]);
        pair.run();
        assert_eq!((pair.got, pair.receiver.misplaced_bytes()), (300_000, 0));
        assert!(pair.told_sender.contains(&Event::Closed) && pair.told_receiver.contains(&Event::Closed));
        let counters = pair.sender.counters();
        assert_eq!((counters.retransmits, counters.timeouts), (0, 0));
        assert_eq!(pair.sender.snapshot().send_queue, 0);
    }
}
