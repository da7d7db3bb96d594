//! Which link has something to do next.

use rexmit_network::{ByLink, LinkId};
use rexmit_path::{Carried, Direction};
use rexmit_units::Instant;

use crate::timers::Timers;

/// This many links are looked at one after another, which is faster than to keep them in order.
const FEW: usize = 8;

/// The links by the time at which something happens in them next; those of one time by their numbers.
#[derive(Debug)]
pub enum DueLinks {
    /// All are asked each time.
    Few,
    /// By a heap, in which each link has an entry that is not too late; what is too early is put right as it comes out.
    Many {
        /// The entries.
        heap: Timers<LinkId>,
        /// By link, its entry that counts; [`Instant::FAR_FUTURE`] if there is none.
        scheduled: ByLink<Instant>,
    },
}

impl DueLinks {
    /// Of this many links, all of them empty.
    pub fn new(links: usize) -> Self {
        if links <= FEW {
            return Self::Few;
        }
        Self::Many { heap: Timers::default(), scheduled: (0..links).map(|_| Instant::FAR_FUTURE).collect() }
    }

    /// The link in which something happens first, and when.
    #[inline]
    pub fn first<P: Carried>(&mut self, links: &ByLink<Direction<P>>) -> (Option<LinkId>, Instant) {
        let Self::Many { heap, scheduled } = self else { return first_of_all(links) };
        loop {
            let Some((due, link)) = heap.first() else { return (None, Instant::FAR_FUTURE) };
            if scheduled[link] == due {
                let true_due = links[link].poll_timer().unwrap_or(Instant::FAR_FUTURE);
                if true_due == due {
                    return (Some(link), due);
                }
                scheduled[link] = true_due;
                if true_due == Instant::FAR_FUTURE {
                    heap.pop();
                } else {
                    heap.replace_first(true_due, link);
                }
            } else {
                heap.pop(); // an earlier entry has been pushed since
            }
        }
    }

    /// Something has been put into a link.
    #[inline(always)]
    pub fn entered<P: Carried>(&mut self, link: LinkId, direction: &Direction<P>) {
        if let Self::Many { heap, scheduled } = self {
            enter(heap, scheduled, link, direction);
        }
    }
}

/// The link has an entry that is not too late.
#[inline(never)]
fn enter<P: Carried>(
    heap: &mut Timers<LinkId>,
    scheduled: &mut ByLink<Instant>,
    link: LinkId,
    direction: &Direction<P>,
) {
    let due = direction.poll_timer().unwrap_or(Instant::FAR_FUTURE);
    if due < scheduled[link] {
        scheduled[link] = due;
        heap.push(due, link);
    }
}

#[inline]
fn first_of_all<P: Carried>(links: &ByLink<Direction<P>>) -> (Option<LinkId>, Instant) {
    let (mut first, mut least) = (None, Instant::FAR_FUTURE);
    for (link, direction) in links.iter() {
        if let Some(due) = direction.poll_timer().filter(|due| *due < least) {
            (first, least) = (Some(link), due);
        }
    }
    (first, least)
}
