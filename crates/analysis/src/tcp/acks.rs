//! What the other side's acknowledgments say: seen here, or as the sender of the data knew it at a time.

use rexmit_units::Instant;

use super::ranges::Ranges;

/// An acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    /// When it was seen.
    pub time: Instant,
    /// Its number.
    pub ack: i64,
    /// Window offered, bytes.
    pub window: u64,
    /// No data, SYN or FIN in its packet.
    pub bare: bool,
    /// Its TSval.
    pub stamp: Option<u32>,
    /// SACK blocks, `blocks` of them.
    pub sack: [(i64, i64); 4],
    /// How many.
    pub blocks: u8,
}

/// What an acknowledgment did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Bytes by which the cumulative acknowledgment moved.
    pub advanced: i64,
    /// Bytes newly reported by SACK.
    pub sacked: i64,
    /// The last number of the newest part reported by SACK, if that lies above all reported before.
    pub sacked_in_order: Option<i64>,
    /// Duplicate SACK block.
    pub dsack: Option<(i64, i64)>,
    /// The window changed.
    pub window: bool,
    /// What had been reported by SACK was taken back.
    pub reneged: bool,
}

/// The state that acknowledgments make.
#[derive(Clone, Debug, Default)]
pub(super) struct AckState {
    /// First number not acknowledged.
    pub una: i64,
    /// Window of the last acknowledgment, bytes; `None` before the first.
    pub window: Option<u64>,
    /// The last acknowledgment changed the window.
    pub window_moved: bool,
    /// Duplicates in a row, as RFC 5681 section 2 has them.
    pub duplicates: u32,
    /// What was reported by SACK above `una`.
    pub sacked: Ranges,
    /// Bytes of it.
    pub sacked_bytes: i64,
    /// When the last acknowledgment was seen.
    pub last: Option<Instant>,
    /// When one last moved `una`.
    pub advanced_at: Option<Instant>,
    /// When one last told of data out of order: a duplicate, or one with news by SACK.
    pub disorder_at: Option<Instant>,
    /// True if the last one did.
    pub last_is_disorder: bool,
    /// Acknowledgments in a row with SACK news or duplicates since `una` moved.
    pub disorders: u32,
    /// When the first of these came.
    pub first_at: Option<Instant>,
    /// When the third of these came.
    pub third_at: Option<Instant>,
    /// The last time that a third came, and `una` then.
    pub crossed: Option<(Instant, i64)>,
    /// When one last told something new: of arrived data, or of a window that goes further.
    pub moved_at: Option<Instant>,
    /// That was an acknowledgment without data.
    pub moved_bare: bool,
    /// The first number beyond the window,
    pub reach: i64,
    /// and what it was before that moment.
    pub reach_before: i64,
}

/// The largest window, bytes (RFC 7323 section 2.3). A receiver holds nothing further above what was sent, of which the
/// capture may have missed some.
const LARGEST_WINDOW: i64 = 1 << 30;

impl AckState {
    /// Takes an acknowledgment; data reach up to `edge`.
    pub(super) fn apply(&mut self, ack: &Ack, edge: i64) -> News {
        let mut news = News { window: self.window != Some(ack.window), ..News::default() };
        let known = self.window.is_some();
        self.window_moved = news.window;
        self.last = Some(ack.time);
        if ack.ack > self.una || !known {
            news.advanced = if known { ack.ack - self.una } else { 0 };
            self.una = ack.ack;
            self.advanced_at = Some(ack.time);
            self.duplicates = 0;
            (self.disorders, self.first_at, self.third_at) = (0, None, None);
            self.sacked_bytes -= self.sacked.trim(ack.ack);
            // RFC 2018 section 8: data above a hole that is filled must have been acknowledged with it.
            if self.sacked.around(ack.ack).is_some() {
                self.sacked.clear();
                self.sacked_bytes = 0;
                news.reneged = true;
            }
        } else if ack.ack == self.una && ack.bare && !news.window && edge > self.una {
            self.duplicates += 1;
        } else {
            self.duplicates = 0;
        }
        let reach = self.reach;
        if ack.ack >= self.una {
            self.window = Some(ack.window);
            self.reach = ack.ack.saturating_add(ack.window as i64);
        }
        if ack.blocks > 0 {
            self.take_sack(ack, edge, &mut news);
        }
        let disorder = self.duplicates > 0 || news.sacked > 0;
        if news.advanced > 0 || self.reach > reach || disorder {
            if self.moved_at != Some(ack.time) {
                self.reach_before = reach;
            }
            (self.moved_at, self.moved_bare) = (Some(ack.time), ack.bare);
        }
        self.last_is_disorder = disorder;
        if disorder {
            self.disorder_at = Some(ack.time);
            self.disorders += 1;
            if self.disorders == 1 {
                self.first_at = Some(ack.time);
            }
            if self.disorders == 3 {
                self.third_at = Some(ack.time);
                self.crossed = Some((ack.time, self.una));
            }
        }
        news
    }

    fn take_sack(&mut self, ack: &Ack, edge: i64, news: &mut News) {
        let blocks = &ack.sack[..usize::from(ack.blocks)];
        for (at, &(left, right)) in blocks.iter().enumerate() {
            // RFC 2883 section 4: the first block lies below the acknowledgment or inside the second block.
            let inside = blocks.get(1).is_some_and(|&(from, to)| from <= left && right <= to);
            if at == 0 && (right <= ack.ack || inside) {
                news.dsack = Some((left, right));
                continue;
            }
            let left = left.max(self.una);
            if left >= right || right > edge.max(ack.ack).saturating_add(LARGEST_WINDOW) {
                continue;
            }
            let highest = self.sacked.highest();
            let (mut fresh, mut top) = (0, None);
            self.sacked.add(left..right, |part| {
                fresh += part.end - part.start;
                top = Some(part.end);
            });
            self.sacked_bytes += fresh;
            news.sacked += fresh;
            if let Some(top) = top.filter(|&top| highest.is_none_or(|highest| top > highest)) {
                news.sacked_in_order = Some(news.sacked_in_order.map_or(top, |known| known.max(top)));
            }
        }
    }
}
