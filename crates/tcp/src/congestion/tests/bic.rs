//! BIC's windows by hand (LX-BIC-2 to LX-BIC-4).

use super::*;

fn bic() -> CongestionConfig {
    CongestionConfig { algorithm: AlgorithmKind::Bic, ..linux() }
}

/// ACKs until the window grows by a segment.
fn acks_for_a_step(c: &mut Congestion, w: &mut Window) -> usize {
    let start = w.cwnd;
    (1..).find(|_| grow(c, w, &[MSS])[0] > start).unwrap()
}

#[test]
fn the_threshold_is_a_half_of_a_small_window_and_four_fifths_of_a_larger_one() {
    // T-LX-9: 20 x 819 / 1024 = 15; Reno halves.
    let at = |config: &CongestionConfig, cwnd: u32| {
        Congestion::new(config).ssthresh_on_loss(&window(cwnd * MSS, 1), &loss(0)) / MSS
    };
    assert_eq!([14, 15, 20, 100].map(|cwnd| at(&bic(), cwnd)), [7, 11, 15, 79]);
    assert_eq!(at(&linux(), 20), 10);
    assert_eq!([1, 2, 3].map(|cwnd| at(&bic(), cwnd)), [2, 2, 2]);
}

#[test]
fn a_small_window_grows_as_renos() {
    let mut c = Congestion::new(&bic());
    assert_eq!(acks_for_a_step(&mut c, &mut window(6 * MSS, 3 * MSS)), 7); // T-LX-3
    let mut c = Congestion::new(&bic());
    c.set_credit(1);
    assert_eq!(acks_for_a_step(&mut c, &mut window(6 * MSS, 3 * MSS)), 6); // T-LX-4
}

#[test]
fn the_search_is_fast_far_from_the_old_maximum_and_slow_near_it() {
    // The ratio tends to one segment an ACK; feed it there first.
    let steps = |last_max: u32, cwnd: u32| {
        let mut c = Congestion::new(&bic());
        grow(&mut c, &mut window(2 * MSS, u32::MAX), &[MSS; 200]);
        c.ssthresh_on_loss(&window(last_max * MSS, 1), &loss(0));
        acks_for_a_step(&mut c, &mut window(cwnd * MSS, MSS))
    };
    // One more than the count each (LX-ST-12). The ratio ends at 31/16: the mean in integers sticks there.
    assert_eq!(steps(200, 100), 100 / 16 * 16 / 31 + 1); // distance 25 > 16: 6
    assert_eq!(steps(140, 100), 100 / 10 * 16 / 31 + 1); // distance 10: 10
    assert_eq!(steps(104, 100), 100 * 20 / 4 * 16 / 31 + 1); // distance 1: 500
    assert_eq!(steps(100, 102), 102 * 20 / 4 * 16 / 31 + 1); // just above: 510
    assert_eq!(steps(100, 110), 110 * 3 / 10 * 16 / 31 + 1); // 33
    assert_eq!(steps(100, 160), 160 / 16 * 16 / 31 + 1); // beyond 48: 10
}

#[test]
fn before_the_first_loss_a_step_takes_at_most_twenty_acks() {
    let mut c = Congestion::new(&bic());
    // 20 / ratio 2 = 10, and one.
    assert_eq!(acks_for_a_step(&mut c, &mut window(400 * MSS, MSS)), 11);
}

#[test]
fn a_loss_at_a_smaller_window_lowers_the_aim_and_a_timeout_forgets_it() {
    let mut c = Congestion::new(&bic());
    c.ssthresh_on_loss(&window(100 * MSS, 1), &loss(0));
    c.ssthresh_on_loss(&window(80 * MSS, 1), &loss(0));
    let Congestion::Bic(inner) = &c else { unreachable!() };
    // 80 x 1843 / 2048
    assert!(format!("{inner:?}").contains("last_max: 71"), "{inner:?}");
    c.on_spurious();
    let Congestion::Bic(inner) = &c else { unreachable!() };
    assert!(format!("{inner:?}").contains("last_max: 100"), "{inner:?}");
    let mut w = window(80 * MSS, 40 * MSS);
    c.on_timeout(&mut w, Instant::ZERO);
    let Congestion::Bic(inner) = &c else { unreachable!() };
    assert!(format!("{inner:?}").contains("Memory { last_max: 0"), "{inner:?}");
    assert_eq!(w.cwnd, MSS);
}

#[test]
fn counted_bytes_give_one_segment_for_a_whole_one_and_none_during_a_timeout() {
    let counted = CongestionConfig { growth: Growth::CountedBytes, ..bic() };
    let mut c = Congestion::new(&counted);
    let mut w = window(3 * MSS, 100 * MSS);
    // LX-ABC-1: 100 + 1348 make a segment; two segments make one, and the rest is forgotten.
    assert_eq!(grow(&mut c, &mut w, &[100, 1348, 2 * MSS, 1447, 1]), [3, 4, 5, 5, 6].map(|n| n * MSS));
    // T-LX-8, LX-ABC-2.
    w.ssthresh = c.ssthresh_on_loss(&w, &loss(0));
    c.on_timeout(&mut w, Instant::ZERO);
    for _ in 0..5 {
        c.on_ack(&mut w, &Ack { during: During::Loss, ..ack(MSS, Instant::ZERO) });
    }
    assert_eq!(w.cwnd, MSS);
    assert_eq!(grow(&mut c, &mut w, &[MSS, MSS]), [2 * MSS, 3 * MSS]);
    // LX-ABC-4: Reno counts the bytes of a whole window.
    let mut c = Congestion::new(&CongestionConfig { algorithm: AlgorithmKind::Reno, ..counted });
    let mut w = window(4 * MSS, 2 * MSS);
    assert_eq!(grow(&mut c, &mut w, &[2 * MSS; 3]), [4 * MSS, 5 * MSS, 5 * MSS]);
}
