//! What ends have done by intervals and how late messages are: the logs of both, fed from the ends of a run, whatever runs
//! them.

use rexmit_network::{ByConnection, EndIndex, Ends, Network};
use rexmit_stack::{Snapshot, ToldCounters};
use rexmit_traffic::App;
use rexmit_units::Instant;

use crate::{HostCell, IntervalLog, IntervalRow, Intervals, Message, MessageLog, MessageRow, Tally};

/// An end of a connection, of a model or of a real kernel.
pub trait Measured {
    /// Its application.
    fn app(&self) -> &App;

    /// The same, to take its journal.
    fn app_mut(&mut self) -> &mut App;

    /// The number of its transfer.
    fn transfer(&self) -> usize;

    /// The state of its connection; `None` where there is none.
    fn snapshot(&self) -> Option<Snapshot>;

    /// What its connection has done since the run began; `None` where nobody tells any longer.
    fn counters(&self) -> Option<ToldCounters> {
        self.snapshot().map(|state| state.counters)
    }
}

/// The end that the data of a connection come from, and the one that they are for.
pub fn roles<E: Measured>([first, second]: &[E; 2]) -> (&E, &E) {
    if first.app().receives() { (second, first) } else { (first, second) }
}

/// The intervals of a run under way.
#[derive(Debug)]
pub struct Meter {
    log: IntervalLog,
    due: Instant,
    /// By number of an end, its place among the senders.
    places: Vec<Option<usize>>,
    senders: Vec<Sending>,
}

/// An end that sends.
#[derive(Clone, Copy, Debug)]
struct Sending {
    at: EndIndex,
    /// Bytes that it had written when it was last looked at.
    written: u64,
    /// What its connection had done when last asked, for a connection that no longer tells.
    counters: ToldCounters,
}

impl Meter {
    /// Of a run with these ends.
    pub fn new<E: Measured>(what: &Intervals, ends: &Ends<E>, of: &Network) -> Self {
        let mut senders = Vec::new();
        let place = |(at, end): (EndIndex, &E)| {
            // A pure receiver writes nothing.
            end.app().sends().then(|| {
                senders.push(Sending { at, written: 0, counters: ToldCounters::default() });
                senders.len() - 1
            })
        };
        let places = ends.iter().map(place).collect();
        let name = |at: EndIndex| (at.connection(), HostCell(of.host_name(ends.host(at)).clone()));
        let log = IntervalLog::new(what, senders.iter().map(|sending| name(sending.at)).collect());
        Self { due: log.due(), log, places, senders }
    }

    /// When an interval next begins or ends.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Before what happens at `now`: begins and ends intervals.
    #[inline]
    pub fn pass<E: Measured>(&mut self, now: Instant, ends: &Ends<E>) {
        if now >= self.due {
            let tallies = self.tallies(ends);
            self.log.pass(now, &tallies);
            self.due = self.log.due();
        }
    }

    /// After something happened to an end.
    #[inline]
    pub fn look<E: Measured>(&mut self, at: EndIndex, end: &E) {
        let Some(place) = self.places[at.number() as usize] else { return };
        let sending = &mut self.senders[place];
        let written = end.app().progress().bytes_written;
        if written > sending.written
            && let Some(state) = end.snapshot()
        {
            self.log.wrote(place, written - sending.written, &state);
            (sending.written, sending.counters) = (written, state.counters);
        }
    }

    /// The rows, once the run is over.
    pub fn finish<E: Measured>(mut self, now: Instant, ends: &Ends<E>) -> Vec<IntervalRow> {
        let tallies = self.tallies(ends);
        self.log.finish(now, &tallies)
    }

    fn tallies<E: Measured>(&mut self, ends: &Ends<E>) -> Vec<Tally> {
        let tally = |sending: &mut Sending| {
            let own = &ends[sending.at];
            if let Some(counters) = own.counters() {
                sending.counters = counters;
            }
            Tally {
                written: own.app().progress().bytes_written,
                delivered: ends[sending.at.peer()].app().progress().bytes_read,
                counters: sending.counters,
            }
        };
        self.senders.iter_mut().map(tally).collect()
    }
}

/// The messages of a run under way.
#[derive(Debug)]
pub struct Post {
    log: MessageLog,
    /// By connection, the sender that writes its messages; none with requests.
    senders: ByConnection<Option<usize>>,
}

impl Post {
    /// Of a run with these ends, whose applications keep journals from now on; with `all`, every message is kept.
    pub fn new<E: Measured>(ends: &mut Ends<E>, all: bool) -> Self {
        let mut log = MessageLog::new(all);
        let mut senders: ByConnection<_> = ends.pairs().map(|_| None).collect();
        for at in ends.indices() {
            if matches!(ends[at].app(), App::Sender(_)) {
                senders[at.connection()] = Some(log.sender(ends.id(at)));
            }
            ends[at].app_mut().keep_journal();
        }
        Self { log, senders }
    }

    /// After something happened to an end.
    #[inline]
    pub fn look<E: Measured>(&mut self, at: EndIndex, end: &mut E) {
        let Some(sender) = self.senders[at.connection()] else { return };
        for write in end.app_mut().written() {
            self.log.wrote(sender, &write);
        }
        for read in end.app_mut().read() {
            self.log.read(sender, &read);
        }
    }

    /// The rows and every message that was to be kept, once the run is over.
    pub fn finish(self, of: &Network) -> (Vec<MessageRow>, Vec<Message>) {
        self.log.finish(of)
    }
}
