//! What BBR makes of a path of 10 packets a millisecond and 20 ms.

use super::*;

const MSS: u32 = 1_000;
/// Microseconds of a round trip.
const RTT: u64 = 20_000;

/// A connection of which each call brings the acknowledgments of a round trip.
struct Path {
    bbr: Bbr,
    window: Window,
    sender: Sender,
    rtt: u64,
}

impl Path {
    fn new() -> Self {
        let mut path = Self {
            bbr: Bbr::new(BbrConfig { first_phase: Some(2) }),
            window: Window { cwnd: 10 * MSS, ssthresh: u32::MAX, mss: MSS, max: u32::MAX },
            sender: Sender {
                ticks: 0,
                hz: 1_000,
                delivered: 1,
                delivered_at: 0,
                lost: 0,
                in_flight: 0,
                phase: Phase::Open,
                srtt: Some(RTT),
                ahead: 0,
                mss: MSS,
            },
            rtt: RTT,
        };
        path.bbr.begin(&mut path.window, &path.sender, (0, Some(RTT)), 1);
        path
    }

    /// `arrived` packets in `us`, the last of a round trip; what is in flight after it.
    fn round(&mut self, arrived: u32, us: u64, in_flight: u32) -> bool {
        self.told(arrived, us, in_flight, 0)
    }

    fn told(&mut self, arrived: u32, us: u64, in_flight: u32, losses: u32) -> bool {
        let prior_delivered = self.sender.delivered;
        self.sender.delivered += arrived;
        self.sender.lost += losses;
        self.sender.delivered_at += us;
        self.sender.ticks = self.sender.delivered_at / 1_000;
        self.sender.in_flight = in_flight;
        let sample = PacketSample {
            rate: Some((arrived, us)),
            has_delivered: arrived > 0,
            prior_delivered,
            app_limited: self.bbr.mode == Mode::ProbeRtt,
            rtt: Some(self.rtt),
            losses,
            arrived,
            prior_in_flight: in_flight + arrived,
            ..PacketSample::default()
        };
        self.bbr.on_sample(&mut self.window, &sample, &self.sender)
    }

    /// Rounds of the whole path until bandwidth is probed for.
    fn reach_probing(&mut self) {
        while self.bbr.mode != Mode::ProbeBandwidth {
            self.round(200, RTT, 200);
        }
    }
}

/// LK-BBR-1: a window in a round trip, times 2/ln 2, less a percent.
#[test]
fn the_first_rate() {
    let exact = 10.0 * f64::from(MSS) / 0.02 * 739.0 / 256.0 * 0.99;
    let rate = Path::new().bbr.rate() as f64;
    assert!((rate / exact - 1.0).abs() < 1e-3, "{rate} {exact}");
}

/// LK-BBR-2: the rate follows the bandwidth at once; three round trips without a quarter more, and the queue is emptied.
#[test]
fn the_pipe_is_full_after_three_rounds_without_growth() {
    let mut path = Path::new();
    for arrived in [10, 20, 40, 80, 160, 200] {
        path.round(arrived, RTT, arrived);
        assert_eq!(path.bbr.mode, Mode::Startup);
        let exact = f64::from(arrived * MSS) / 0.02 * 739.0 / 256.0 * 0.99;
        assert!((path.bbr.rate() as f64 / exact - 1.0).abs() < 1e-4);
    }
    for _ in 0..2 {
        path.round(220, RTT, 500);
        assert_eq!(path.bbr.mode, Mode::Startup);
    }
    let room = 3 * path.bbr.segments_goal(&path.sender);
    path.round(220, RTT, 500);
    assert_eq!((path.bbr.mode, path.bbr.pacing_gain), (Mode::Drain, DRAIN));
    assert_eq!(path.window.threshold_packets(), (220 + room + 1) & !1);
    path.round(220, RTT, 200);
    assert_eq!((path.bbr.mode, path.bbr.cycle, path.bbr.pacing_gain), (Mode::ProbeBandwidth, 2, UNIT));
}

/// LK-BBR-3: eight phases, of a least round trip or a little more each; the one with more rate lasts until as much is in flight.
#[test]
fn a_cycle_has_eight_phases() {
    let mut path = Path::new();
    path.reach_probing();
    let mut phases = Vec::new();
    for _ in 0..8 {
        path.round(200, RTT + 1, 0);
        phases.push(path.bbr.cycle);
    }
    // Too little is in flight for the end of phase 0.
    assert_eq!(phases, [3, 4, 5, 6, 7, 0, 0, 0]);
    path.round(200, RTT + 1, 400);
    assert_eq!((path.bbr.cycle, path.bbr.pacing_gain), (1, UNIT * 3 / 4));
    path.round(10, 1_000, 100);
    assert_eq!(path.bbr.cycle, 2, "what was too much is gone");
}

/// LK-BBR-4: two round trips' worth of packets, room for three packets of the send queue, an even number.
#[test]
fn the_window_is_twice_the_product() {
    let mut path = Path::new();
    path.reach_probing();
    for _ in 0..4 {
        path.round(200, RTT, 200);
    }
    let goal = path.bbr.segments_goal(&path.sender);
    // That acknowledgments come in lumps, here of a round trip each, is allowed for.
    let lumps = path.bbr.aggregation.packets(path.bbr.bandwidth.get());
    assert_eq!(path.window.packets(), (400 + lumps + 3 * goal + 1) & !1);
}

/// LK-BBR-5: after ten seconds without a shorter round trip four packets are out for 200 ms and a round trip, and then as many
/// as before.
#[test]
fn the_least_round_trip_is_measured_anew() {
    let mut path = Path::new();
    path.reach_probing();
    path.rtt = RTT + 5_000;
    while path.bbr.mode == Mode::ProbeBandwidth {
        assert!(!path.round(200, RTT, 200) || path.bbr.mode == Mode::ProbeRtt);
    }
    assert!(path.sender.ticks > 10_000 && path.sender.ticks < 10_200, "{}", path.sender.ticks);
    let before = path.bbr.prior_cwnd;
    assert_eq!((path.window.packets(), before > 300), (4, true));
    let began = path.sender.ticks;
    path.rtt = RTT;
    while path.bbr.mode == Mode::ProbeRtt {
        assert!(path.round(4, RTT, 4), "what is sent meanwhile is limited by the application");
        assert!(path.bbr.mode != Mode::ProbeRtt || path.window.packets() == 4);
    }
    let took = path.sender.ticks - began;
    assert!((200..300).contains(&took), "{took}");
    assert!(path.window.packets() >= 400, "{}", path.window.packets());
    assert_eq!(path.bbr.least_rtt, Some(RTT));
}

/// LK-BBR-6: in the first round trip of a recovery as much leaves as arrives; losses are taken from the window; its end
/// brings back the earlier window.
#[test]
fn a_recovery_keeps_packets_for_a_round_trip() {
    let mut path = Path::new();
    path.reach_probing();
    for _ in 0..4 {
        path.round(200, RTT, 200);
    }
    let before = path.window.packets();
    let loss = Loss { in_flight: 0, snd_wnd: 0, now: Instant::ZERO };
    let threshold = path.bbr.ssthresh_on_loss(&path.window, &loss);
    assert_eq!(threshold, path.window.ssthresh, "losses are no sign of congestion");
    path.sender.phase = Phase::Recovery;
    // Not the end of a round: what arrives left before the last one ended.
    path.bbr.round_ends = path.sender.delivered + 1_000;
    path.told(2, RTT / 100, 150, 3);
    assert_eq!(path.window.packets(), 152);
    path.bbr.round_ends = path.sender.delivered;
    path.told(1, RTT, 150, 5);
    assert_eq!(path.window.packets(), 152 - 5 + 1, "the round is over");
    path.sender.phase = Phase::Open;
    path.told(1, RTT, 150, 0);
    assert_eq!(path.window.packets(), before);
}

/// LK-BBR-7: two intervals of four round trips with a fifth lost and the same rate: it is policed, and kept for 48 round trips.
#[test]
fn a_policed_rate_is_kept() {
    let mut path = Path::new();
    path.reach_probing();
    let mut rounds = 0;
    while !path.bbr.policer.uses {
        path.told(100, RTT, 100, 30);
        rounds += 1;
        assert!(rounds < 20);
    }
    assert!(rounds >= 8, "{rounds}");
    let policed = f64::from(path.bbr.policer.rate) / f64::from(1 << SCALE);
    assert!((policed / (100.0 / RTT as f64) - 1.0).abs() < 0.01, "{policed}");
    let mut kept = 0;
    while path.bbr.policer.uses {
        path.round(100, RTT, 100);
        assert!(!path.bbr.policer.uses || path.bbr.pacing_gain == UNIT);
        kept += 1;
    }
    assert_eq!(kept, 48);
}

/// LK-BBR-8: a timeout ends the earlier growth: the pipe has to be found full again.
#[test]
fn a_timeout_forgets_how_full_the_pipe_was() {
    let mut path = Path::new();
    for _ in 0..3 {
        path.round(200, RTT, 200);
    }
    assert!(path.bbr.full_rounds > 0 && path.bbr.mode == Mode::Startup);
    path.bbr.on_loss_state(&path.sender);
    assert_eq!((path.bbr.full_bandwidth, path.bbr.phase), (0, Phase::Loss));
    path.bbr.on_undo(&path.sender);
    assert_eq!(path.bbr.full_rounds, 0);
}
