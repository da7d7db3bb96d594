//! Calls of the application's that a program answers before they are made.
//!
//! An application that is told an event does what it always does then: its [`Habits`]. A program that knows `FOLLOWED` is told of it
//! with the call that the event may come from, acts as if the application had called already, and answers both. The answer to the
//! second call waits here until the application makes that call, which is at the same instant and before any other. So all that
//! looks at the end sees the same as without: what changes is how often the program is called.

use std::collections::VecDeque;

use rexmit_stack::{Delivery, Habits};
use rexmit_wire::Payload;

use crate::frame::{Answer, Call};

/// A write of more bytes is not sent along.
const MOST_WRITTEN: u64 = 1 << 16;

/// What the application of an end will do, and what is answered to it.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    habits: Habits,
    /// What was not taken of the last write: its length, and how it is to be delivered.
    rest: Option<(u64, Delivery)>,
    /// The last call after which that would have been written again came with the event for it: bytes that are sent along for
    /// nothing cost more than they save.
    writable: bool,
    /// What the program was told of: the most of a read; where a write begins, and its length.
    asked: (u32, Option<(u64, u64)>),
    answers: VecDeque<(u8, Answer)>,
}

impl Ahead {
    /// That of an application with these habits. With [`Habits::default`] no call has others that follow it.
    pub fn new(habits: Habits) -> Self {
        Self { habits, ..Self::default() }
    }

    /// Takes note of a write, of which this much was not taken.
    pub fn wrote(&mut self, left: u64, how: Delivery) {
        self.rest = (left > 0 && self.habits.writes_again && !how.datagram).then_some((left, how));
    }

    /// The most bytes of each read that follows an event, where one does.
    pub fn reads(&self) -> Option<u64> {
        self.habits.reads
    }

    /// The write that follows an event, where one does: its length, of which no more than `piece` is offered at once, and how it
    /// is to be delivered.
    pub fn writes(&self, piece: u64) -> Option<(u64, Delivery)> {
        let rest = self.rest.filter(|_| self.writable);
        rest.map(|(left, how)| (left.min(piece), how)).filter(|(len, _)| *len <= MOST_WRITTEN)
    }

    /// Takes note of whether a call came with the event that the application can write.
    pub fn told(&mut self, writable: bool) {
        if self.rest.is_some() {
            self.writable = writable;
        }
    }

    /// Takes note of a call that the program is about to be asked.
    pub fn asks(&mut self, call: &Call<'_>) {
        if let Call::Followed { most, write, .. } = call {
            self.asked = (*most, write.and_then(placed));
        }
    }

    /// Keeps what is answered to calls that the application will make.
    pub fn keep(&mut self, next: Vec<(u8, Answer)>) {
        self.answers.extend(next);
    }

    /// The answer to a call, where it is there.
    ///
    /// # Errors
    /// Another call was answered.
    pub fn answer(&mut self, call: &Call<'_>) -> Option<Result<Answer, String>> {
        let (kind, answer) = self.answers.pop_front()?;
        let same = match call {
            Call::Read(most) => *most == self.asked.0,
            Call::Write { .. } => placed(call) == self.asked.1,
            _ => false,
        };
        let same = same && kind == call.kind();
        Some(if same {
            Ok(answer)
        } else {
            Err("it answered a call that the application has not made".into())
        })
    }

    /// Nothing of it counts any more.
    pub fn clear(&mut self) {
        self.answers.clear();
    }
}

/// Where a write begins, and its length.
fn placed(call: &Call<'_>) -> Option<(u64, u64)> {
    match call {
        Call::Write { place, bytes, .. } => Some((*place, bytes.len() as u64)),
        _ => None,
    }
}

/// Bytes of the stream that applications write, made once for as often as they are offered.
#[derive(Debug, Default)]
pub(crate) struct Written {
    place: u64,
    pub bytes: Vec<u8>,
}

impl From<&[u8]> for Written {
    /// Bytes of no place.
    fn from(bytes: &[u8]) -> Self {
        Self { place: u64::MAX, bytes: bytes.to_vec() }
    }
}

impl Written {
    /// Those of a place, in the same memory.
    pub fn at(mut self, place: u64, len: u64) -> Self {
        if self.place != place || self.bytes.len() as u64 != len {
            self.bytes.clear();
            Payload::Stream { offset: place, len: len as u32 }.append_to(&mut self.bytes);
            self.place = place;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HABITS: Habits = Habits { reads: Some(100), writes_again: true };

    fn write(place: u64, bytes: &[u8]) -> Call<'_> {
        Call::Write { how: Delivery::default(), place, bytes }
    }

    #[test]
    fn what_was_not_taken_is_sent_along_once_the_event_for_it_has_come() {
        let mut ahead = Ahead::new(HABITS);
        ahead.wrote(50, Delivery::default());
        assert_eq!(ahead.writes(40), None, "nothing has shown that it would be of use");
        ahead.told(true);
        assert_eq!(ahead.writes(40), Some((40, Delivery::default())));
        ahead.told(false);
        assert_eq!(ahead.writes(40), None);
        ahead.told(true);
        ahead.wrote(0, Delivery::default());
        assert_eq!(ahead.writes(40), None, "all was taken");
        ahead.wrote(50, Delivery { datagram: true, ..Delivery::default() });
        assert_eq!(ahead.writes(40), None, "a datagram is offered by itself");
        ahead.wrote(MOST_WRITTEN + 1, Delivery::default());
        assert_eq!(ahead.writes(MOST_WRITTEN + 1), None, "too long");
    }

    #[test]
    fn an_application_without_habits_is_followed_by_nothing() {
        let mut ahead = Ahead::new(Habits::default());
        ahead.wrote(50, Delivery::default());
        ahead.told(true);
        assert_eq!((ahead.reads(), ahead.writes(40)), (None, None));
    }

    #[test]
    fn an_answer_is_given_to_the_call_that_it_is_of_and_to_no_other() {
        let mut ahead = Ahead::new(HABITS);
        let next = write(9, b"abc");
        ahead.asks(&Call::Followed { first: &Call::Timer, most: 100, write: Some(&next) });
        let answer = Answer { taken: 3, ..Answer::default() };
        for (kind, call, right) in [
            (6, write(9, b"abc"), true),
            (6, write(8, b"abc"), false),
            (6, write(9, b"ab"), false),
            (6, Call::Read(100), false),
            (7, Call::Read(100), true),
            (7, Call::Read(99), false),
            (7, Call::Close, false),
        ] {
            ahead.keep(vec![(kind, answer.clone())]);
            assert_eq!(ahead.answer(&call).unwrap().is_ok(), right, "{kind} {}", call.name());
        }
        assert_eq!(ahead.answer(&Call::Timer), None);
    }

    #[test]
    fn bytes_of_another_place_are_made_anew() {
        let of = |place, len| Written::default().at(place, len).bytes;
        let written = Written::default().at(5, 10);
        assert_eq!(written.bytes, of(5, 10));
        let written = written.at(6, 10);
        assert_eq!(written.bytes, of(6, 10));
        assert_eq!(written.at(6, 3).bytes, of(6, 3));
    }
}
