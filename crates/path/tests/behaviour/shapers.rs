//! Linux's token bucket filter and a router's shaper, by the rows of the behaviour tables (EM-TB, EM-CI and T-EM).

use crate::common::{burst, down, down_at, idents, ms, path, udp, us};
use proptest::prelude::*;
use rexmit_path::{Direction, Fate, PathError};
use rexmit_units::{Duration, Instant};

/// When what comes out comes out.
fn times(direction: &mut Direction) -> Vec<Instant> {
    idents(direction).into_iter().map(|out| out.0).collect()
}

/// Sends packets `(us, ip_len)`, taking out what is due before each; when each came out.
fn run(direction: &mut Direction, packets: &[(u64, u32)]) -> Vec<Instant> {
    let mut out = Vec::new();
    for (ident, &(at, len)) in packets.iter().enumerate() {
        while let Some(due) = direction.poll_timer().filter(|due| *due <= us(at)) {
            out.extend(direction.poll_receive(due).map(|_| due));
        }
        direction.send(us(at), udp(len, ident as u16));
    }
    out.extend(times(direction));
    out
}

fn refused(toml: &str) -> String {
    path(toml).check("path", None).expect_err("refused").to_string()
}

const TBF: &str = "rate = \"10 Mbit/s\"\noverhead = \"14 bytes\"\nshaper = \"tbf\"\n";

/// EM-TB-1 at 10 Mbit/s with jiffies of 1 ms: of 1600 bytes a packet of 1514 leaves 86; 1428 are missing, for which the
/// kernel waits 2 jiffies; meanwhile the bucket overflows. One packet each 2 ms, 6 Mbit/s, where nothing else wakes it.
#[test]
fn a_bucket_looks_again_after_whole_jiffies() {
    let mut tbf = down(TBF);
    burst(&mut tbf, ms(0), 4, 1500);
    assert_eq!(times(&mut tbf), [0, 2, 4, 6].map(ms));
    // Jiffies have a phase: 2 of them from the start of the one in which it looked.
    let mut tbf = down_at(TBF, Duration::from_micros(300));
    burst(&mut tbf, ms(0), 3, 1500);
    assert_eq!(times(&mut tbf), [0, 1_300, 3_300].map(us));
}

/// EM-TB-1: a packet that comes makes the kernel look at once, and the packet at the head leaves when the tokens are
/// there: 1142.4 us after the one before.
#[test]
fn a_packet_that_comes_wakes_the_bucket() {
    let look = |at| run(&mut down(TBF), &[(0, 1500), (0, 1500), (at, 40)]);
    // Too early: nothing but the timer, which is set anew for what is missing now, to the same jiffy.
    assert_eq!(look(1_142), [0, 2_000, 2_000].map(us));
    // 14 bytes of overhead with 40: 54, for which 86 and what came since are enough.
    assert_eq!(look(1_143)[..2], [0, 1_143].map(us));
    assert_eq!(look(1_500), [0, 1_500, 1_500].map(us));
}

/// EM-TB-1: a timer counts whole jiffies from the start of the present one, so it may expire early: then it is set
/// again.
#[test]
fn a_timer_that_expires_early_is_set_again() {
    // One byte a microsecond. At 0.9 ms 100 bytes are left; 1.4 ms are missing, 2 jiffies: at 2 ms there are 1200.
    let mut tbf = down("rate = \"8 Mbit/s\"\nshaper = \"tbf\"");
    assert_eq!(run(&mut tbf, &[(900, 1500), (900, 1500)]), [900, 3_000].map(us));
    // With shorter jiffies it is closer to the rate.
    let mut tbf = down("rate = \"8 Mbit/s\"\nshaper = \"tbf\"\ntick = \"100 us\"");
    assert_eq!(run(&mut tbf, &[(900, 1500), (900, 1500)]), [900, 2_300].map(us));
}

/// EM-TB-4: the bucket is full at the start, fills no further, and lets packets pass while it covers them.
#[test]
fn a_bucket_holds_its_burst() {
    let mut tbf = down("rate = \"80 kbit/s\"\nshaper = \"tbf\"\nburst = \"3000 bytes\"");
    burst(&mut tbf, ms(5_000), 4, 1000);
    // Ten bytes a millisecond: the fourth waits for 1000 of them.
    assert_eq!(times(&mut tbf), [5_000, 5_000, 5_000, 5_100].map(ms));
    assert_eq!(path("shaper = \"tbf\"\nrate = \"1 Mbit/s\"").down().burst.map(|b| b.as_u64()), Some(1600));
}

/// T-EM-8, EM-TB-2 and -3: a limit of 8 kB holds 5 frames of 1514 bytes, the one at the head included.
#[test]
fn t_em_8_bytes_must_fit() {
    let mut tbf = down("rate = \"10 kbit/s\"\noverhead = \"14 bytes\"\nqueue = \"8 KiB\"\nshaper = \"tbf\"");
    let verdicts = burst(&mut tbf, ms(0), 8, 1500);
    assert!(matches!(verdicts[0].fate, Fate::Delivered { at: Some(at) } if at == ms(0)));
    assert!(verdicts[1..6].iter().all(|v| v.fate == Fate::Undecided && !v.is_drop()));
    assert!(
        verdicts[6..].iter().all(|v| v.to_string() == "dropped: queue full (8192 bytes)"),
        "{verdicts:?}"
    );
    assert_eq!(tbf.queued(ms(0)), (5, 5 * 1514));
    // A small one still fits.
    assert!(!tbf.send(ms(1), udp(600, 9)).is_drop());
    for (limit, packets) in [(2, 1), (4, 2), (8, 5), (16, 10), (32, 21), (64, 43), (128, 86), (256, 173)] {
        let mut tbf = down(&format!("{TBF}queue = \"{limit} KiB\""));
        burst(&mut tbf, ms(0), 300, 1500);
        assert_eq!(tbf.queued(ms(0)).0, packets, "{limit} kB");
    }
}

/// The verdict on a packet that waits comes when it leaves, in the log and where it is asked for.
#[test]
fn late_verdicts() {
    let mut tbf = down(&format!("{TBF}queue = \"2 packets\"\ndelay = \"10 ms\"")).with_log();
    tbf.keep_late_verdicts();
    let verdicts: Vec<String> = burst(&mut tbf, ms(0), 4, 1500).iter().map(ToString::to_string).collect();
    assert_eq!(
        verdicts,
        ["delivered", "still in the queue", "still in the queue", "dropped: queue full (2 packets)"]
    );
    assert_eq!((tbf.poll_verdict(), tbf.in_transit()), (None, 3));
    // Inside, something happens at 2 ms; nothing comes out before 10 ms.
    assert_eq!(tbf.poll_timer(), Some(ms(2)));
    assert_eq!(tbf.poll_receive(ms(2)), None);
    let late = tbf.poll_verdict().expect("the second has left the queue");
    assert_eq!((late.position, late.fate), (2, Fate::Delivered { at: Some(ms(12)) }));
    assert_eq!((tbf.poll_verdict(), tbf.poll_timer()), (None, Some(ms(4))));
    let logged: Vec<bool> = tbf.log().iter().map(|row| row.verdict.is_final()).collect();
    assert_eq!(logged, [true, true, false, true]);
    assert_eq!(idents(&mut tbf), [(ms(10), 1), (ms(12), 2), (ms(14), 3)]);
    assert!(tbf.log().iter().all(|row| row.verdict.is_final()));
    assert_eq!((tbf.counters().drops(), tbf.counters().received), (1, 3));
}

/// A packet that is longer than the bucket never gets tokens: it is dropped with that reason, and scenarios whose hosts
/// send such packets are refused.
#[test]
fn packets_longer_than_the_bucket() {
    let mut tbf = down(&format!("{TBF}burst = \"1513 bytes\""));
    assert_eq!(
        tbf.send(ms(0), udp(1500, 1)).to_string(),
        "dropped: longer than the token bucket (1514 bytes)"
    );
    assert!(!tbf.send(ms(0), udp(1499, 2)).is_drop());
    assert_eq!((tbf.counters().too_long, tbf.counters().drops(), tbf.counters().dropped_bytes), (1, 1, 1500));
    let spec = path(&format!("{TBF}burst = \"1513 bytes\""));
    assert_eq!(spec.check("path", Some([1499, 1499])), Ok(()));
    assert!(
        spec.check("path", Some([1499, 1500]))
            .expect_err("too long")
            .to_string()
            .starts_with("path.up.burst")
    );
    assert_eq!(
        spec.check("path", Some([1500, 1499])).expect_err("too long").to_string(),
        "path.down.burst: packets of 1500 bytes (the sender's MTU) with 14 of overhead do not fit into 1513 bytes; \
         allowed: at least 1514 bytes"
    );
}

/// What a bucket needs, and who has none.
#[test]
fn refusals() {
    let needs = "path.down.rate: the shaper tbf needs one, such as \"1 Mbit/s\"";
    assert_eq!(refused("shaper = \"tbf\""), needs);
    assert_eq!(refused("shaper = \"cisco\""), needs.replace("tbf", "cisco"));
    let only = "only the shaper tbf has a bucket; leave it out";
    assert_eq!(refused("burst = \"2 kB\""), format!("path.burst: {only}"));
    assert_eq!(refused("down.burst = \"2 kB\""), format!("path.down.burst: {only}"));
    assert_eq!(
        path("rate = \"1 Mbit/s\"\nburst = \"2 kB\"\nup.shaper = \"tbf\"").check("path", None),
        Ok(())
    );
    assert_eq!(
        refused(&format!("{TBF}burst = \"81 bytes\"")),
        "path.down.burst: no packet fits in; allowed: at least 82 bytes"
    );
    assert_eq!(refused(&format!("{TBF}tick = \"0 s\"")), PathError::NoTick("path.down".into()).to_string());
    assert!(refused("rate = \"1 Mbit/s\"\nshaper = \"cisco\"\ntick = \"0 s\"").contains("tick"));
}

const CISCO: &str = "rate = \"196 kbit/s\"\nshaper = \"cisco\"\ntick = \"4 ms\"\n";

/// T-EM-9, EM-CI-2 and -3: 784 bits a tick, full packets of 12000 bits: 15 or 16 ticks each, and the rate in the long
/// run.
#[test]
fn t_em_9_credit_builds_up() {
    let mut router = down(CISCO);
    burst(&mut router, ms(0), 99, 1500);
    let out = times(&mut router);
    // The first at once, of 12784 bits; 784 are left, 11216 missing, 15 ticks; 544, 304 and 64 are left, then 16.
    assert_eq!(out[..6], [0, 60, 120, 180, 244, 304].map(ms));
    // 98 packets of 12000 bits at 196 kbit/s are 6000 ms; 784 bits were there at the start.
    assert_eq!(out[98], ms(5_996));
    let mut router = down_at(CISCO, Duration::from_millis(3));
    burst(&mut router, ms(0), 2, 1500);
    // Before its first tick, at 3 ms, the shaper has its credit as well.
    assert_eq!(times(&mut router), [0, 59].map(ms));
    let spec = path("shaper = \"cisco\"\nrate = \"1 Mbit/s\"\nup.shaper = \"tbf\"");
    assert_eq!([spec.down().tick, spec.up().tick], [4, 1].map(Duration::from_millis));
}

/// T-EM-10: a limit of 5 packets is one of 5, whatever their size.
#[test]
fn t_em_10_packets_count_whatever_their_size() {
    for len in [52, 1500] {
        let mut router = down(&format!("{CISCO}queue = \"5 packets\""));
        // Credit for one full packet and one ACK.
        burst(&mut router, ms(0), 1, 1500);
        burst(&mut router, ms(0), 1, 52);
        let drops: Vec<bool> = burst(&mut router, ms(0), 6, len).iter().map(|v| v.is_drop()).collect();
        assert_eq!(drops, [false, false, false, false, false, true]);
        assert_eq!(router.queued(ms(0)).0, 5);
    }
}

/// EM-CI-2: what the credit of a tick covers leaves at the rate of the link; EM-CI-4: the overhead counts.
#[test]
fn a_tick_s_packets_leave_at_the_rate_of_the_link() {
    let mut router =
        down("rate = \"3 Mbit/s\"\nshaper = \"cisco\"\nlink = \"100 Mbit/s\"\nqueue = \"99 packets\"");
    // Bc is 12000 bits, the most 24000: six packets of 4000 at once, then three a tick, 40 us apart on the link.
    burst(&mut router, ms(1), 12, 500);
    let out = times(&mut router);
    assert_eq!(out[..6], [1_080, 1_120, 1_160, 1_200, 1_240, 1_280].map(us));
    assert_eq!(out[6..], [4_040, 4_080, 4_120, 8_040, 8_080, 8_120].map(us));
    let mut router = down(&format!("{CISCO}overhead = \"14 bytes\""));
    burst(&mut router, ms(0), 2, 1500);
    // 12112 bits: the bound is one such packet and 784 bits; 11328 are missing, 15 ticks.
    assert_eq!(times(&mut router), [0, 60].map(ms));
    let mut jumbo = down(CISCO);
    burst(&mut jumbo, ms(0), 2, 9000);
    // 72000 bits: 12784 at the start, the rest 76 ticks; then 72000 less 368, 92 ticks.
    assert_eq!(times(&mut jumbo), [304, 672].map(ms));
}

/// Behind a bucket, impairments do what they do behind other shapers.
#[test]
fn impairments_behind_a_bucket() {
    let toml = format!(
        "{TBF}queue = \"3 packets\"\ndown.drop = 1\ndown.duplicate = \"2,4\"\ndown.hold = {{ position = 3, by = \"50 ms\" }}"
    );
    let mut tbf = down(&toml).with_log();
    burst(&mut tbf, ms(0), 5, 1500);
    let out = idents(&mut tbf);
    assert_eq!(out, [(ms(0), 2), (ms(2), 2), (ms(6), 4), (ms(54), 3)]);
    let verdicts: Vec<String> = tbf.log().iter().map(|row| row.verdict.to_string()).collect();
    assert_eq!(
        verdicts,
        [
            "dropped by pattern at position 1",
            "delivered, duplicated",
            "delivered, held for 50 ms",
            "delivered, duplicated (copy dropped: queue full)",
            "dropped: queue full (3 packets)"
        ]
    );
    let counters = tbf.counters();
    assert_eq!((counters.packets + counters.duplicated, counters.received + counters.drops()), (6, 6));
}

/// The first link feeds the bucket packet by packet.
#[test]
fn a_bucket_behind_a_link() {
    let mut tbf = down("rate = \"8 Mbit/s\"\nshaper = \"tbf\"\nlink = \"40 Mbit/s\"\nqueue = \"2 packets\"");
    // 0.25 ms each on the link: they come at 0.25, 0.5, 0.75 and 1 ms. The first leaves at once with 1250 of 1600; the
    // third finds the second waiting, the fourth finds two.
    let verdicts = burst(&mut tbf, ms(0), 4, 1250);
    assert!(verdicts.iter().all(|v| v.fate == Fate::Undecided));
    assert_eq!([us(100), us(250), us(600), us(800)].map(|at| tbf.queued(at).0), [0, 0, 1, 2]);
    // 900 bytes are missing as the second comes: one jiffy, then another; each arrival looks as well. At 1 ms the
    // bucket has 350 + 750 bytes, at 2 ms it is full; at 3 ms it has 350 + 1000.
    assert_eq!(times(&mut tbf), [500, 2_250, 3_250].map(us));
    assert_eq!(tbf.counters().queue_full, 1);
}

fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((prop_oneof![Just(0), 0..4_000_000u64], 28..1500u32), 1..150)
}

/// Which packets come out and when, where they arrive with these gaps from `start` on.
fn come_out(direction: &mut Direction, packets: &[(u64, u32)], start: Instant) -> Vec<(Instant, u16)> {
    let (mut now, mut out) = (start, Vec::new());
    for (ident, &(gap, len)) in packets.iter().enumerate() {
        now += Duration::from_nanos(gap);
        while let Some(due) = direction.poll_timer().filter(|due| *due <= now) {
            out.extend(direction.poll_receive(due).map(|p| (due, p.ip.ident)));
        }
        direction.send(now, udp(len, ident as u16));
    }
    out.extend(idents(direction));
    out
}

proptest! {
    /// In no span of time does more leave than the bucket and the rate allow; nothing is lost that was not dropped, and
    /// the order is kept.
    #[test]
    fn a_bucket_is_never_overdrawn(packets in arrivals(), rate in 50_000..20_000_000u64, phase in 0..1_000_000u64) {
        let toml = format!("rate = \"{rate} bit/s\"\nshaper = \"tbf\"\nqueue = \"20 kB\"");
        let mut tbf = down_at(&toml, Duration::from_nanos(phase));
        let (mut now, mut out) = (Instant::ZERO, Vec::new());
        for (ident, &(gap, len)) in packets.iter().enumerate() {
            now += Duration::from_nanos(gap);
            while let Some(due) = tbf.poll_timer().filter(|due| *due <= now) {
                out.extend(tbf.poll_receive(due).map(|p| (due, p.ip.ident)));
            }
            tbf.send(now, udp(len, ident as u16));
            let (inside, bytes) = tbf.queued(now);
            prop_assert!(bytes <= 20_000);
            let counters = tbf.counters();
            prop_assert!(inside + counters.received + counters.drops() <= counters.packets);
        }
        out.extend(idents(&mut tbf));
        prop_assert!(out.is_sorted_by_key(|o| o.1) && out.is_sorted_by_key(|o| o.0));
        prop_assert_eq!(out.len() as u64 + tbf.counters().drops(), packets.len() as u64);
        for first in 0..out.len() {
            let mut bits = 0;
            for one in &out[first..] {
                bits += u128::from(packets[usize::from(one.1)].1) * 8;
                let span = u128::from((one.0 - out[first].0).as_nanos());
                prop_assert!(bits * 1_000_000_000 <= 1600 * 8 * 1_000_000_000 + u128::from(rate) * span);
            }
        }
    }

    /// EM-TB-7: netem outside a bucket delays packets before it, a path behind it. For whole jiffies that is the same:
    /// the same packets are dropped, and the others come out at the same times.
    #[test]
    fn a_delay_of_whole_jiffies_may_stand_before_or_behind_a_bucket(
        packets in arrivals(), rate in 50_000..20_000_000u64, delay in 0..300u64, phase in 0..1_000_000u64,
    ) {
        let toml = format!("rate = \"{rate} bit/s\"\nshaper = \"tbf\"\nqueue = \"8 KiB\"");
        let phase = Duration::from_nanos(phase);
        let behind = come_out(&mut down_at(&format!("{toml}\ndelay = \"{delay} ms\""), phase), &packets, ms(0));
        let before = come_out(&mut down_at(&toml, phase), &packets, ms(delay));
        prop_assert_eq!(behind, before);
    }

    /// A router's shaper that is always busy keeps its rate to the credit that there may be.
    #[test]
    fn a_router_keeps_its_rate(rate in 50_000..20_000_000u64, lengths in prop::collection::vec(28..1500u32, 1..300)) {
        let toml = format!("rate = \"{rate} bit/s\"\nshaper = \"cisco\"");
        let mut router = down(&toml);
        for (ident, len) in lengths.iter().enumerate() {
            router.send(Instant::ZERO, udp(*len, ident as u16));
        }
        let bits: u64 = lengths.iter().map(|l| u64::from(*l) * 8).sum();
        let committed = rate / 250;
        let most = committed.max(12_000) + committed;
        let last = *times(&mut router).last().expect("one at least");
        prop_assert!(last >= ms(bits.saturating_sub(most + 1) * 1000 / rate));
        prop_assert!(last <= ms((bits + committed).saturating_sub(most) * 1000 / rate + 5));
    }
}
