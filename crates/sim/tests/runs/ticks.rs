//! Timers of several connections of a host that fire on one tick.

use std::sync::mpsc::{Sender, channel};

use rexmit_network::HostId;
use rexmit_network::two_hosts::SERVER;
use rexmit_sim::{Observer, Resolved, RetransmissionRow, RunOptions, Streams, run_observed};
use rexmit_units::Instant;
use rexmit_wire::{Packet, Payload, Transport};
use serde_json::json;

/// The connections, by their ports, in the order in which the server sends them this byte of their streams.
struct Order(u64, Vec<(Instant, u16)>, Sender<Vec<(Instant, u16)>>);

impl Observer for Order {
    fn packet(&mut self, host: HostId, now: Instant, packet: &Packet) {
        let Transport::Tcp(segment) = &packet.transport else { return };
        if let Payload::Stream { offset, .. } = segment.payload
            && host == SERVER
            && offset == self.0
        {
            self.1.push((now, segment.dst_port));
        }
    }

    fn finish(self: Box<Self>) -> Vec<RetransmissionRow> {
        self.2.send(self.1).unwrap();
        Vec::new()
    }
}

/// LK-TIMER-2: three tail probes of new data, of which two leave on one tick, that of the connection which was opened last first,
/// as Linux 6.1.192 does it. Without a wheel that of the first one goes first.
#[test]
fn lk_timer_2_the_last_timer_set_fires_first_twin() {
    let play = |timers: &str| {
        let host = json!({
            "stack": { "inherits": "linux-6.1", "clock": { "timers": timers } }, "tick_phase": "441709 us",
        });
        let scenario = json!({
            "hosts": { "server": host, "client": host },
            "path": { "rate": "993469 bit/s", "delay": "610 us", "queue": "264 packets" },
            "transfers": [{
                "from": "server", "to": "client", "writes": "4 x 9949 bytes, 1857 bytes",
                "connections": 4, "stagger": "1 ms",
            }],
        });
        let resolved = Resolved::from_value(scenario).unwrap();
        let (to, found) = channel();
        let observer = Box::new(Order(14_293, Vec::new(), to));
        run_observed(&resolved, &Streams::new(1, ""), &RunOptions::default(), Some(observer)).unwrap();
        let sent = found.recv().unwrap();
        assert_eq!(sent[1].0, sent[2].0, "{sent:?}");
        let first = sent.iter().map(|(_, port)| *port).min().unwrap();
        [sent[1].1 - first, sent[2].1 - first]
    };
    assert_eq!(play("wheel"), [2, 1]);
    assert_eq!(play("ticks"), [1, 2]);
}
