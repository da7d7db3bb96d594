//! Windows computed by hand ACK by ACK, one model of random operations for every controller, and CUBIC's
//! response function.

mod bic;
mod cubic;
mod model;
mod reno;

use rexmit_units::{Duration, Instant};

use super::{
    Ack, AlgorithmKind, BicConfig, Congestion, CongestionConfig, CongestionControl, CubicConfig, During,
    Growth, GrowthCondition, GrowthCount, HystartRule, InflightConfig, Loss, SlowStartCondition,
    SsthreshRule, Window,
};

const MSS: u32 = 1448;

fn freebsd() -> CongestionConfig {
    CongestionConfig {
        counts: GrowthCount::Acks,
        inflight: InflightConfig::default(),
        algorithm: AlgorithmKind::Reno,
        growth: Growth::PerAck,
        at_least_one: false,
        abc_limit: 2,
        slow_start: SlowStartCondition::UpToSsthresh,
        hystart: HystartRule::Off,
        grows: GrowthCondition::Always,
        ssthresh: SsthreshRule::WindowHalf,
        initial_ssthresh: None,
        cubic: CubicConfig::default(),
        bic: BicConfig::default(),
        bbr: crate::congestion::BbrConfig::default(),
    }
}

fn rfc() -> CongestionConfig {
    CongestionConfig {
        growth: Growth::PerByte,
        at_least_one: true,
        slow_start: SlowStartCondition::BelowSsthresh,
        grows: GrowthCondition::WhenLimited,
        ssthresh: SsthreshRule::FlightHalf,
        ..freebsd()
    }
}

pub(super) fn linux() -> CongestionConfig {
    CongestionConfig { growth: Growth::Counter, ssthresh: SsthreshRule::CwndHalf, ..freebsd() }
}

fn cubic() -> CongestionConfig {
    CongestionConfig { algorithm: AlgorithmKind::Cubic, ..rfc() }
}

fn window(cwnd: u32, ssthresh: u32) -> Window {
    Window { cwnd, ssthresh, mss: MSS, max: 65_535 << 14 }
}

fn ack(acked: u32, now: Instant) -> Ack {
    Ack {
        acked,
        now,
        srtt: Some(Duration::from_millis(100)),
        in_flight: 0,
        cwnd_limited: true,
        during: During::Open,
    }
}

fn loss(in_flight: u32) -> Loss {
    Loss { in_flight, snd_wnd: u32::MAX, now: Instant::ZERO }
}

/// Feeds ACKs of `acked` bytes each and returns the window after each.
fn grow(c: &mut Congestion, w: &mut Window, acks: &[u32]) -> Vec<u32> {
    let one = |&acked: &u32| {
        c.on_ack(w, &ack(acked, Instant::ZERO));
        w.cwnd
    };
    acks.iter().map(one).collect()
}
