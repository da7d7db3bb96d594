//! Random scenarios: a path, and how its two hosts are set.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_path::{DirectionSpec, Impairments, LossModel};
use rexmit_units::{Duration, Probability, QueueLimit, QueueSize, Rate};

/// What controls congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Nothing but the receiver's window.
    None,
    /// NewReno.
    Reno,
    /// CUBIC.
    Cubic,
}

/// What an application does.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// It writes so many bytes and closes.
    Write {
        /// Bytes that are left.
        left: usize,
        /// Bytes at a time.
        piece: usize,
        /// Time between two; zero for none.
        pause: Duration,
    },
    /// It reads until the other side has closed.
    Read {
        /// Bytes at a time.
        piece: usize,
        /// Time between two; zero for none.
        pause: Duration,
    },
}

/// A path of two hops, and two hosts: one that sends data and one that gets them.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What all its random numbers come from.
    pub seed: u64,
    /// The bottleneck.
    pub rate: Rate,
    /// What its queue holds, in packets.
    pub queue: u64,
    /// One way, from the sender to the middle and from there to the receiver.
    pub delays: [Duration; 2],
    /// Loss of data packets in front of the bottleneck and behind the middle.
    pub data_loss: [Probability; 2],
    /// Loss of ACKs in front of the middle and behind it.
    pub ack_loss: [Probability; 2],
    /// Largest IP packet.
    pub mtu: usize,
    /// Congestion control.
    pub control: Control,
    /// Whether timestamps are used.
    pub timestamps: bool,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// How long ACKs are delayed.
    pub ack_delay: Option<Duration>,
    /// The sender of the data opens the connection.
    pub sender_opens: bool,
    /// Bytes that the sender may have outstanding.
    pub send_buffer: usize,
    /// The receiver's largest window, in bytes.
    pub receive_buffer: usize,
    sends: Task,
    reads: Task,
}

impl Scenario {
    /// The scenario with this number.
    pub fn random(seed: u64) -> Self {
        let mut draw = Draw(stream(seed, "scenario"));
        let delay = draw.along(&[2e6, 10e6, 40e6, 150e6]);
        let share = 0.1 + 0.8 * draw.unit();
        let segments = draw.along(&[40.0, 200.0, 1_000.0]);
        let mtu = *draw.one_of(&[576, 1500, 1500]);
        let bytes = (segments * (mtu - 40) as f64) as usize;
        let (sends, reads) = match draw.below(10) {
            // Short messages, some of them slower than the round trip.
            0 | 1 => {
                let pause = Duration::from_nanos(draw.along(&[1e6, 20e6, 100e6, 400e6]) as u64);
                let piece = draw.along(&[50.0, 500.0, 4_000.0]) as usize;
                (Task::Write { left: bytes.min(400 * piece), piece, pause }, Task::READ)
            }
            // A reader that lets the window close.
            2 => {
                let pause = Duration::from_nanos(draw.along(&[20e6, 300e6, 3e9]) as u64);
                let piece = draw.along(&[1_000.0, 4_000.0, 20_000.0]) as usize;
                let left = bytes.min(60 * piece);
                (Task::Write { left, piece: left, pause: Duration::ZERO }, Task::Read { piece, pause })
            }
            _ => (Task::Write { left: bytes, piece: bytes, pause: Duration::ZERO }, Task::READ),
        };
        Self {
            seed,
            rate: Rate::from_bits_per_second(draw.along(&[0.5e6, 2e6, 10e6, 50e6]) as u64).expect("not zero"),
            queue: draw.along(&[5.0, 20.0, 60.0, 201.0]) as u64,
            delays: [delay * share, delay * (1.0 - share)].map(|ns| Duration::from_nanos(ns as u64)),
            data_loss: draw.loss(),
            ack_loss: draw.loss(),
            mtu,
            control: *draw.one_of(&[Control::None, Control::Reno, Control::Cubic]),
            timestamps: draw.below(2) == 0,
            nagle: draw.below(4) != 0,
            ack_delay: *draw.one_of(&[None, Some(10), Some(40)].map(|ms| ms.map(Duration::from_millis))),
            sender_opens: draw.below(3) == 0,
            send_buffer: draw.along(&BUFFERS) as usize,
            receive_buffer: draw.along(&BUFFERS) as usize,
            sends,
            reads,
        }
    }

    /// What the sender's application does.
    pub fn sends(&self) -> Task {
        self.sends
    }

    /// What the receiver's application does.
    pub fn reads(&self) -> Task {
        self.reads
    }

    /// The four links: from the sender to the middle, on to the receiver, back to the middle, on to the sender.
    pub fn links(&self) -> [DirectionSpec; 4] {
        let [near, far] = self.delays;
        let link = |delay: Duration, loss: Probability| DirectionSpec {
            delay,
            impairments: Impairments {
                loss: (loss != Probability::ZERO).then_some(LossModel::Independent(loss)),
                ..Impairments::default()
            },
            ..DirectionSpec::default()
        };
        let bottleneck = DirectionSpec {
            rate: Some(self.rate),
            queue: QueueSize::Limit(QueueLimit::Packets(self.queue)),
            ..link(near, self.data_loss[0])
        };
        [bottleneck, link(far, self.data_loss[1]), link(far, self.ack_loss[0]), link(near, self.ack_loss[1])]
    }

    /// The stream of random numbers of this name.
    pub fn stream(&self, name: &str) -> Xoshiro256PlusPlus {
        stream(self.seed, name)
    }
}

impl Task {
    /// It reads all at once.
    const READ: Self = Self::Read { piece: usize::MAX, pause: Duration::ZERO };
}

/// Bytes that a side holds.
const BUFFERS: [f64; 4] = [4_000.0, 16_000.0, 64_000.0, 256_000.0];

fn stream(seed: u64, name: &str) -> Xoshiro256PlusPlus {
    let seed = name.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// Random choices.
struct Draw(Xoshiro256PlusPlus);

impl Draw {
    /// From 0 up to but not 1.
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Between two neighbours of these, each pair as likely as another.
    fn along(&mut self, points: &[f64]) -> f64 {
        let left = self.below(points.len() as u64 - 1) as usize;
        points[left] + self.unit() * (points[left + 1] - points[left])
    }

    fn below(&mut self, count: u64) -> u64 {
        self.0.next_u64() % count
    }

    fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// None in a third of the cases, else up to 5 %, at one of two places.
    fn loss(&mut self) -> [Probability; 2] {
        let trillionths = (self.unit() * 0.05e12) as u64;
        let loss = Probability::from_trillionths(trillionths).expect("below one");
        match self.below(3) {
            0 => [Probability::ZERO; 2],
            1 => [loss, Probability::ZERO],
            _ => [Probability::ZERO, loss],
        }
    }
}
