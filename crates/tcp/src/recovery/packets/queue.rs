//! What has been sent and not yet acknowledged, packet by packet: which is SACKed, lost, sent again.
//!
//! Sums are kept as marks change. SACK blocks mostly repeat what the last acknowledgment said, so only what
//! differs from that is looked at.

use std::collections::VecDeque;
use std::ops::Range;

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

/// One packet that is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub start: SeqNumber,
    /// One past its last byte, or past its FIN.
    pub end: SeqNumber,
    /// When it left last.
    pub at: Instant,
    /// Reported by SACK.
    pub sacked: bool,
    /// Taken for lost.
    pub lost: bool,
    /// Sent again, and that copy counts as in flight.
    pub resent: bool,
    /// Sent again at some time.
    pub ever_resent: bool,
    /// One past the highest byte sent when it was sent again last.
    pub mark: SeqNumber,
    /// Packets that had arrived when it left last, where somebody asks.
    pub delivered: u32,
    /// It stands in the order of departures (`tcp_tsorted_anchor`): it was not taken for lost by time since it left last.
    pub listed: bool,
    /// What left before it was of another packet of the send queue, which holds several segments.
    pub begins: bool,
}

/// What one acknowledgment, or its SACK blocks, told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketReport {
    /// Packets that left the queue.
    pub acked: u32,
    /// Packets that arrived, as far as was not known before.
    pub delivered: u32,
    /// When the first and the last of them that were sent only once left.
    pub times: Option<(Instant, Instant)>,
    /// A packet that has been sent again is among them.
    pub resent: bool,
    /// A packet at or below the mark of the present episode that was sent once only is among them.
    pub original: bool,
    /// The lowest of those sent once only.
    pub lowest: Option<SeqNumber>,
    /// New SACK reports.
    pub sacked: bool,
}

impl PacketReport {
    fn note_original(&mut self, packet: &Sent, mark: SeqNumber) {
        let first = self.times.map_or(packet.at, |(first, _)| first);
        self.times = Some((first, packet.at));
        self.original |= packet.end <= mark;
    }
}

/// What a packet that leaves again may take along.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub una: SeqNumber,
    /// The end of the peer's window.
    pub wnd_end: SeqNumber,
    /// A full segment.
    pub mss: u32,
    /// The number of our FIN, if it has left.
    pub fin: Option<SeqNumber>,
}

/// The packets that are out, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentQueue {
    packets: VecDeque<Sent>,
    pub sacked: u32,
    pub lost: u32,
    pub resent: u32,
    /// Packets ever marked lost, again and again.
    pub losses: u64,
    /// One past the highest SACKed byte.
    fack: Option<SeqNumber>,
    /// Blocks of the last report.
    known: Vec<(SeqNumber, SeqNumber)>,
    /// Packets that have arrived by the last report or acknowledgment and were not known to, where somebody asks.
    pub arrived: Vec<Sent>,
    pub notes_arrivals: bool,
    /// Packets that have arrived, where somebody asks.
    pub delivered: u32,
    /// Packets of the send queue that these were sent as.
    pub begun: u32,
}

impl SentQueue {
    /// Packets out.
    #[inline]
    pub fn len(&self) -> u32 {
        self.packets.len() as u32
    }

    /// Packets that are believed to be in the network.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        (self.len() + self.resent).saturating_sub(self.sacked + self.lost)
    }

    pub fn head(&self) -> Option<&Sent> {
        self.packets.front()
    }

    pub fn last(&self) -> Option<&Sent> {
        self.packets.back()
    }

    pub fn get(&self, i: usize) -> Option<&Sent> {
        self.packets.get(i)
    }

    /// One past the highest SACKed byte, if there is one above una.
    pub fn fack(&self) -> Option<SeqNumber> {
        self.fack.filter(|_| self.sacked > 0)
    }

    /// A new packet leaves.
    pub fn push(&mut self, start: SeqNumber, end: SeqNumber, at: Instant, begins: bool) {
        let begins = begins || self.packets.is_empty();
        self.begun += u32::from(begins);
        self.packets.push_back(Sent {
            start,
            end,
            at,
            sacked: false,
            lost: false,
            resent: false,
            ever_resent: false,
            mark: start,
            delivered: self.delivered,
            listed: true,
            begins,
        });
    }

    /// Everything before `una` has arrived; `mark` ends the present episode. With `sack`, what was not reported
    /// counts as delivered now.
    pub fn acknowledge(&mut self, una: SeqNumber, mark: SeqNumber, sack: bool) -> PacketReport {
        let mut news = PacketReport::default();
        while let Some(packet) = self.packets.front().copied().filter(|p| p.end <= una) {
            self.packets.pop_front();
            self.begun -= u32::from(self.packets.front().is_none_or(|next| next.begins));
            news.acked += 1;
            if self.notes_arrivals && !packet.sacked {
                self.arrived.push(packet);
            }
            if packet.resent || packet.ever_resent {
                self.resent -= u32::from(packet.resent);
                news.resent = true;
            } else if !packet.sacked {
                news.note_original(&packet, mark);
                news.lowest = news.lowest.or(Some(packet.start));
            }
            if packet.sacked {
                self.sacked -= 1;
            } else if sack {
                news.delivered += 1;
            }
            self.lost -= u32::from(packet.lost);
        }
        if self.packets.is_empty() {
            self.known.clear();
        }
        news
    }

    /// Takes the SACK blocks of an acknowledgment; `una` is from before it.
    pub fn report(
        &mut self,
        blocks: &[(SeqNumber, SeqNumber)],
        una: SeqNumber,
        mark: SeqNumber,
    ) -> PacketReport {
        let mut news = PacketReport::default();
        for &(left, right) in blocks {
            let known = self.known.iter().copied().find(|k| k.0 < right && left < k.1);
            match known {
                Some((from, to)) => {
                    self.report_range(left..from.min(right), una, mark, &mut news);
                    self.report_range(to.max(left)..right, una, mark, &mut news);
                }
                None => self.report_range(left..right, una, mark, &mut news),
            }
        }
        self.known.clear();
        self.known.extend_from_slice(blocks);
        news
    }

    fn report_range(
        &mut self,
        block: Range<SeqNumber>,
        una: SeqNumber,
        mark: SeqNumber,
        news: &mut PacketReport,
    ) {
        let mut i = self.packets.partition_point(|p| p.start < block.start);
        while let Some(packet) = self.packets.get_mut(i).filter(|p| p.end <= block.end) {
            i += 1;
            if packet.sacked || packet.end <= una {
                continue;
            }
            let before = *packet;
            packet.sacked = true;
            if self.notes_arrivals {
                self.arrived.push(before);
            }
            if before.resent {
                // Not taken for lost: the copy is believed to be on its way still.
                if before.lost {
                    (packet.lost, packet.resent) = (false, false);
                    self.lost -= 1;
                    self.resent -= 1;
                }
            } else {
                packet.lost = false;
                self.lost -= u32::from(before.lost);
                if !before.ever_resent {
                    let hole = self.sacked > 0 && self.fack.is_some_and(|fack| before.start < fack);
                    let lower = news.lowest.is_none_or(|lowest| before.start < lowest);
                    if hole && lower {
                        news.lowest = Some(before.start);
                    }
                    news.note_original(&before, mark);
                }
            }
            self.shift(i - 1);
            news.sacked = true;
            news.delivered += 1;
            self.fack = match self.fack {
                Some(fack) if self.sacked > 0 => Some(fack.max(before.end)),
                _ => Some(before.end),
            };
            self.sacked += 1;
        }
    }

    /// The packet at `i` was reported: it joins those before it that were, and of the packet of the send queue that it was a
    /// part of the rest is on its own (`tcp_shift_skb_data`, `tcp_match_skb_to_sack`).
    fn shift(&mut self, i: usize) {
        let joins = i.checked_sub(1).is_some_and(|before| self.packets[before].sacked);
        let begins = std::mem::replace(&mut self.packets[i].begins, !joins);
        self.begun = self.begun + u32::from(!joins) - u32::from(begins || i == 0);
        self.cut(i + 1);
    }

    /// A duplicate of `[left, right)` was reported: copies of it are no longer in flight. Returns how many
    /// packets in that range had been sent again.
    pub fn report_duplicate(&mut self, left: SeqNumber, right: SeqNumber) -> u32 {
        let (mut i, mut n) = (self.packets.partition_point(|p| p.start < left), 0);
        while let Some(packet) = self.packets.get_mut(i).filter(|p| p.end <= right) {
            i += 1;
            n += u32::from(packet.resent || packet.ever_resent);
            if std::mem::take(&mut packet.resent) {
                self.resent -= 1;
            }
        }
        n
    }

    /// The packet at `i` is taken for lost, or its copy is lost as well; a SACKed one is not.
    pub fn lose(&mut self, i: usize) {
        let packet = &mut self.packets[i];
        if packet.sacked {
            return;
        }
        if !packet.lost {
            packet.lost = true;
            self.lost += 1;
            self.losses += 1;
        } else if std::mem::take(&mut packet.resent) {
            self.resent -= 1;
            self.losses += 1;
        }
    }

    /// What was before the packet at `i` has left again without it (`tcp_fragment`).
    pub fn cut(&mut self, i: usize) {
        if let Some(packet) = self.packets.get_mut(i) {
            self.begun += u32::from(!std::mem::replace(&mut packet.begins, true));
        }
    }

    /// The packet at `i` is not looked at again before it leaves again.
    pub fn unlist(&mut self, i: usize) {
        self.packets[i].listed = false;
    }

    /// The last packet leaves again as a probe, which is not a copy that counts as in flight.
    pub fn probe_last(&mut self, at: Instant) {
        if let Some(packet) = self.packets.back_mut() {
            (packet.at, packet.delivered) = (at, self.delivered);
            (packet.ever_resent, packet.listed) = (true, true);
        }
    }

    /// Has any packet that is out been sent again?
    pub fn any_ever_resent(&self) -> bool {
        self.packets.iter().any(|p| p.ever_resent)
    }

    /// All that are not SACKed are lost, and their copies as well. A head that is SACKed shows that the
    /// receiver has dropped what it reported: all reports are forgotten.
    pub fn lose_all(&mut self) {
        self.lose_all_but(|_| false);
    }

    /// The same, except those behind the head that are too young, by when they left last.
    pub fn lose_all_but(&mut self, is_young: impl Fn(Instant) -> bool) {
        let forgets = self.head().is_some_and(|p| p.sacked);
        if forgets {
            self.packets.iter_mut().for_each(|p| p.sacked = false);
            self.sacked = 0;
            self.known.clear();
        }
        for i in 0..self.packets.len() {
            if i > 0 && !forgets && is_young(self.packets[i].at) {
                continue;
            }
            // A copy that was not taken for lost is given up together with its original.
            let packet = &mut self.packets[i];
            if !packet.sacked && !packet.lost && std::mem::take(&mut packet.resent) {
                self.resent -= 1;
            }
            self.lose(i);
        }
    }

    /// Nothing is lost after all.
    pub fn forgive(&mut self) {
        self.packets.iter_mut().for_each(|p| p.lost = false);
        self.lost = 0;
    }

    /// All are lost, from the head on, up to where more than `sacked_upto` SACKed packets have been passed
    /// (`tcp_mark_head_lost`).
    pub fn lose_below(&mut self, sacked_upto: u32) {
        let mut count = 0;
        for i in 0..self.packets.len() {
            count += u32::from(self.packets[i].sacked);
            if count > sacked_upto {
                break;
            }
            if !self.packets[i].lost {
                self.lose(i);
            }
        }
    }

    /// The next lost packet that has not been sent again, from `from` on.
    pub fn next_lost(&self, from: usize) -> Option<usize> {
        if self.resent >= self.lost {
            return None;
        }
        (from..self.packets.len()).find(|&i| {
            let p = &self.packets[i];
            p.lost && !p.sacked && !p.resent
        })
    }

    /// Place of the packet that starts at `start`, counted from 1.
    pub fn place(&self, start: SeqNumber) -> u32 {
        self.packets.partition_point(|p| p.start < start) as u32 + 1
    }

    /// Packets up to the highest SACKed one (`fackets_out`).
    pub fn reach(&self) -> u32 {
        self.fack().map_or(0, |fack| self.packets.partition_point(|p| p.start < fack) as u32)
    }

    /// Of the first `n` packets that end at `mark` at the latest, those that are neither SACKed nor on their way again
    /// are lost (`tcp_mark_head_lost` of 2.6).
    pub fn lose_first(&mut self, n: u32, mark: SeqNumber) {
        for i in 0..self.packets.len().min(n as usize) {
            if self.packets[i].end > mark {
                break;
            }
            if !self.packets[i].resent {
                self.lose(i);
            }
        }
    }

    /// Those that have been out for too long and are not on their way again are lost.
    pub fn lose_old(&mut self, is_old: impl Fn(Instant) -> bool) {
        for i in 0..self.packets.len() {
            if !self.packets[i].resent && is_old(self.packets[i].at) {
                self.lose(i);
            }
        }
    }

    /// Data up to `reported` have arrived: copies that left before the last of them are lost. Without FACK, `patience`
    /// bytes must lie between. Returns whether there were any.
    pub fn lose_copies(&mut self, reported: SeqNumber, patience: Option<u32>) -> bool {
        let mut found = false;
        for i in 0..self.packets.len() {
            let packet = &mut self.packets[i];
            if packet.start > reported {
                break;
            }
            let late = packet.resent
                && packet.mark < reported
                && patience.is_none_or(|bytes| packet.mark + bytes <= reported);
            if late {
                packet.resent = false;
                self.resent -= 1;
                self.lose(i);
                found = true;
            }
        }
        found
    }

    /// The next packet up to the highest SACKed one, from `from` on, that is neither SACKed nor lost nor on its way
    /// again.
    pub fn next_untouched(&self, from: usize) -> Option<usize> {
        (from..self.reach() as usize).find(|&i| {
            let p = &self.packets[i];
            !(p.sacked || p.lost || p.resent)
        })
    }

    /// The packet at `i` is about to leave again: those behind it that fit into its segment, and into the peer's window,
    /// become a part of it (`tcp_retrans_try_collapse`).
    pub fn put_together(&mut self, i: usize, room: &Room) {
        while let (Some(&to), Some(&next)) = (self.packets.get(i), self.packets.get(i + 1)) {
            let start = to.start.max(room.una);
            let fits = |end: SeqNumber| end.diff(start) <= room.mss as i32;
            // A FIN alone takes a number and no room.
            let bare = room.fin == Some(next.start);
            let alone = next.begins && self.packets.get(i + 2).is_none_or(|behind| behind.begins);
            let joins = alone && (fits(next.end) || (bare && fits(next.start))) && next.end <= room.wnd_end;
            if !joins || to.sacked || next.sacked || to.end.diff(start) >= room.mss as i32 {
                return;
            }
            self.packets.remove(i + 1);
            self.begun -= 1;
            self.lost -= u32::from(next.lost);
            self.resent -= u32::from(next.resent);
            let packet = &mut self.packets[i];
            packet.end = next.end;
            packet.ever_resent |= next.ever_resent;
        }
    }

    /// The packet at `i` leaves again at `at`, its numbers before `end`; the rest, if any, is a packet of its own. All
    /// before `mark` has been sent.
    pub fn send_again(&mut self, i: usize, end: SeqNumber, at: Instant, mark: SeqNumber) {
        let packet = &mut self.packets[i];
        if end < packet.end {
            let rest = Sent { start: end, begins: true, ..*packet };
            packet.end = end;
            self.begun += 1;
            self.lost += u32::from(rest.lost);
            self.packets.insert(i + 1, rest);
        }
        let packet = &mut self.packets[i];
        (packet.at, packet.mark, packet.delivered) = (at, mark, self.delivered);
        (packet.ever_resent, packet.listed) = (true, true);
        if !std::mem::replace(&mut packet.resent, true) {
            self.resent += 1;
        }
    }

    #[cfg(test)]
    pub fn check(&self) {
        let count = |f: fn(&Sent) -> bool| self.packets.iter().filter(|p| f(p)).count() as u32;
        let headless = self.head().is_some_and(|head| !head.begins);
        assert_eq!(self.begun, count(|p| p.begins) + u32::from(headless));
        assert_eq!(self.resent, count(|p| p.resent));
        assert_eq!(self.lost, count(|p| p.lost));
        assert!(self.packets.iter().zip(self.packets.iter().skip(1)).all(|(a, b)| a.end <= b.start));
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
