//! Traces of mahimahi's mm-link: a line for each opportunity, its time in whole milliseconds.
//!
//! As in mahimahi's `src/frontend/link_queue.cc` (commit ae477d43 of 2024): each line is one opportunity, at which at most
//! 1504 bytes leave, of one packet or of several; a packet that does not fit goes on at later ones; what an opportunity
//! could have carried and did not is lost. Times do not go back, and several lines may have one. After the last line
//! the trace begins again, its times counted from that of the last one (EM-MM-1 to EM-MM-4).

use rexmit_units::{Duration, Instant};

use super::lines::{Lines, shown};
use super::{About, Fault, TraceFile, TraceFormat};

/// Bytes that one opportunity carries: `PACKET_SIZE` in link_queue.hh, "default max TUN payload size".
pub const OPPORTUNITY: u32 = 1504;

/// Bytes that mahimahi counts with each IP packet: a TUN device that was opened without `IFF_NO_PI`, as in its
/// `netdevice.cc`, puts flags and protocol before the packet. So a packet of 1500 bytes fills an opportunity.
pub(crate) const TUN_HEADER: u64 = 4;

/// Nanoseconds in the unit of a line.
const MS: u64 = 1_000_000;
/// A line of more digits is not a time of any trace.
const MOST_DIGITS: usize = 13;

/// True for a line that is a time.
pub(super) fn is_time(line: &[u8]) -> bool {
    !line.is_empty() && line.iter().all(u8::is_ascii_digit)
}

/// Reads a trace whole; the first line of `lines` has been read.
pub(super) fn survey(mut lines: Lines) -> Result<About, Fault> {
    lines.rewind();
    let mut found: Option<(u64, u64)> = None;
    let mut count = 0;
    while let Some(line) = lines.next()? {
        let time = time_of(line);
        let number = lines.number();
        let time = time.map_err(|what| Fault::at(number, what))?;
        let (first, last) = found.unwrap_or((time, time));
        if time < last {
            let what = format!(
                "{time} ms, behind {last} ms in the line before: times must not go back: put the lines in order, as by \
                 sort -n"
            );
            return Err(Fault::at(number, what));
        }
        found = Some((first, time));
        count += 1;
    }
    let (first, last) = found.unwrap_or_default();
    if last == 0 {
        let what = "every opportunity is at 0 ms, and the last line is also the time after which the trace begins \
                    again: give it a time above 0";
        return Err(Fault::at(lines.number(), what));
    }
    Ok(About {
        format: TraceFormat::Mahimahi,
        lines: count,
        first: Duration::from_nanos(first * MS),
        last: Duration::from_nanos(last * MS),
        rate: None,
        most_in_round: None,
        delay: None,
        loss: None,
    })
}

/// The time of a line, ms.
fn time_of(line: &[u8]) -> Result<u64, String> {
    if line.is_empty() {
        return Err("is empty: remove it, or write a time in whole ms".to_owned());
    }
    if !is_time(line) || line.len() > MOST_DIGITS {
        return Err(format!("{} is not a time: write whole milliseconds, such as 12", shown(line)));
    }
    Ok(line.iter().fold(0, |time, digit| time * 10 + u64::from(digit - b'0')))
}

/// The opportunities of a trace, one after another.
pub(crate) struct Opportunities {
    file: TraceFile,
    lines: Lines,
    repeats: bool,
    /// When the present round has begun.
    base: Instant,
    /// The next one; [`Instant::FAR_FUTURE`] where there is none.
    next: Instant,
}

impl Opportunities {
    /// From the first one on; `repeats` says whether the trace begins again at its end.
    pub fn new(file: &TraceFile, repeats: bool) -> Self {
        let lines = file.lines();
        let mut this =
            Self { file: file.clone(), lines, repeats, base: Instant::ZERO, next: Instant::FAR_FUTURE };
        this.pass();
        this
    }

    /// When the next one is.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// The next one has gone by.
    pub fn pass(&mut self) {
        self.next = match self.read() {
            None if self.repeats => {
                self.begin_round(self.base + self.file.about().last);
                self.read().unwrap_or(Instant::FAR_FUTURE)
            }
            next => next.unwrap_or(Instant::FAR_FUTURE),
        };
    }

    /// All up to `now` have gone by.
    pub fn pass_until(&mut self, now: Instant) {
        let round = self.file.about().last.as_nanos();
        let begun = Instant::from_nanos(now.as_nanos() / round * round);
        // What lies in rounds before is at most at the beginning of this one.
        if self.repeats && begun > self.base && now < Instant::FAR_FUTURE {
            self.begin_round(begun);
            self.pass();
        }
        while self.next <= now && self.next < Instant::FAR_FUTURE {
            self.pass();
        }
    }

    fn begin_round(&mut self, base: Instant) {
        self.base = base;
        self.lines.rewind();
    }

    fn read(&mut self) -> Option<Instant> {
        let time = match self.lines.next() {
            Ok(line) => line.map(time_of).transpose().map_err(Fault::whole),
            Err(fault) => Err(fault),
        };
        match time {
            Ok(time) => Some(self.base + Duration::from_nanos(time? * MS)),
            Err(fault) => self.file.has_changed(&fault),
        }
    }
}
