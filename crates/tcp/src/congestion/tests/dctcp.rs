use rexmit_units::Instant;

use super::*;
use crate::congestion::{AlgorithmKind, Growth};

const MSS: u32 = 1_448;

fn dctcp() -> Dctcp {
    let linux = super::super::tests::linux();
    Dctcp::new(&CongestionConfig { algorithm: AlgorithmKind::Dctcp, growth: Growth::PerPacket, ..linux })
}

fn window(packets: u32) -> Window {
    Window { cwnd: packets * MSS, ssthresh: u32::MAX, mss: MSS, max: u32::MAX }
}

fn loss() -> Loss {
    Loss { in_flight: 0, snd_wnd: u32::MAX, now: Instant::ZERO }
}

/// A round trip of this many packets, of which this many were marked, and what alpha is then.
fn round(c: &mut Dctcp, at: &mut u32, packets: u32, marked: u32) -> u32 {
    c.count(packets - marked, false);
    c.count(marked, true);
    *at += 1_000;
    c.update(SeqNumber(*at), SeqNumber(*at + 1_000));
    c.alpha()
}

/// LK-DCTCP-1: by hand, in 1,024ths. 1024 - 64 = 960; 960 - 60 + 64 x 5 / 10 = 932; 932 - 58 + 64 = 938.
#[test]
fn alpha_follows_the_share_of_marks() {
    let (mut c, mut at) = (dctcp(), 0);
    assert_eq!(c.alpha(), 1_024);
    assert_eq!(round(&mut c, &mut at, 10, 0), 960);
    assert_eq!(round(&mut c, &mut at, 10, 5), 932);
    assert_eq!(round(&mut c, &mut at, 10, 10), 938);
}

/// Where all is marked alpha stays whole; where nothing is, it ends at zero and not at 15.
#[test]
fn alpha_has_two_ends() {
    let (mut c, mut at) = (dctcp(), 0);
    assert_eq!(round(&mut c, &mut at, 10, 10), 1_024);
    let all: Vec<u32> = (0..100).map(|_| round(&mut c, &mut at, 10, 0)).collect();
    assert!(all.windows(2).all(|pair| pair[1] < pair[0] || pair == [0, 0]), "{all:?}");
    assert!(all.contains(&15) || all.contains(&0), "{all:?}");
    assert_eq!(all.last(), Some(&0));
    assert_eq!(round(&mut c, &mut at, 64, 1), 1);
}

/// Within a round trip nothing changes.
#[test]
fn alpha_is_looked_at_once_a_round_trip() {
    let (mut c, mut at) = (dctcp(), 0);
    round(&mut c, &mut at, 10, 0);
    c.count(5, true);
    c.update(SeqNumber(at + 999), SeqNumber(at + 3_000));
    assert_eq!(c.alpha(), 960);
    c.update(SeqNumber(at + 1_000), SeqNumber(at + 3_000));
    assert_eq!(c.alpha(), 900 + 64);
}

/// LK-DCTCP-2: half of alpha is taken off cwnd, after a loss half of cwnd; without ECN it is Reno.
#[test]
fn the_threshold() {
    let (mut c, mut at) = (dctcp(), 0);
    assert_eq!(c.ssthresh_on_loss(&window(20), &loss()), 10 * MSS);
    round(&mut c, &mut at, 10, 0);
    assert_eq!(c.ssthresh_on_loss(&window(20), &loss()), 11 * MSS); // 20 - 20 x 960 / 2048
    for _ in 0..40 {
        round(&mut c, &mut at, 10, 0);
    }
    assert_eq!(c.ssthresh_on_loss(&window(20), &loss()), 20 * MSS);
    assert_eq!(c.react_to_loss(&window(20)), 10 * MSS);
    assert_eq!(c.react_to_loss(&window(3)), 2 * MSS);
    assert_eq!(c.window_before(), 3 * MSS);
    c.fall_back();
    assert_eq!(c.ssthresh_on_loss(&window(20), &loss()), 10 * MSS);
}
