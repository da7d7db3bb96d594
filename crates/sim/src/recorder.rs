//! Captures and tables of a single run.

use std::io;

use rexmit_capture::{Options, Writer};
use rexmit_path::Verdict;
use rexmit_stack::{Endpoint, Transmission};
use rexmit_units::Instant;
use rexmit_wire::Packet;

use crate::capture_file::CaptureFile;
use crate::options::RunOptions;
use crate::stack::Stack;
use crate::tape::{Capture, Tape};
use crate::truth::{Place, Seen, TransmissionRow, Truth};
use rexmit_scenario::{HOSTS, StateLog, StateRow};

/// What is written down while a run goes on.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    captures: [Option<Tape>; 2],
    states: Option<StateLog>,
    truth: Option<Truth>,
    failure: Option<io::Error>,
}

/// What was written down.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub states: Vec<StateRow>,
    pub transmissions: Vec<TransmissionRow>,
    pub captures: [Vec<u8>; 2],
}

impl Recorder {
    /// `None` where nothing is to be written down.
    pub fn new(options: &RunOptions) -> io::Result<Option<Self>> {
        let paths = [&options.capture_server, &options.capture_client];
        let captures = options.captures || paths.iter().any(|p| p.is_some());
        if !captures && options.state.is_none() && !options.transmissions {
            return Ok(None);
        }
        let mut recorder = Self {
            states: options.state.map(StateLog::new),
            truth: options.transmissions.then(Truth::default),
            ..Self::default()
        };
        for (i, path) in paths.into_iter().enumerate() {
            let about = Options {
                comment: options.comment.clone(),
                snap_len: options.capture_snap_len,
                description: Some(format!("the {}'s interface in virtual time", HOSTS[i])),
                ..Options::default()
            };
            recorder.captures[i] = match path {
                _ if options.captures => {
                    Some(Capture::Bytes(Writer::with_options(Vec::new(), HOSTS[i], &about)?))
                }
                Some(path) => Some(Capture::File(CaptureFile::create(path, HOSTS[i], &about)?)),
                None => None,
            }
            .map(Tape::new);
        }
        Ok(Some(recorder))
    }

    /// A packet leaves an end (host and connection), which is `from` now; its path (0, or 1 for the alternate one) has said
    /// what becomes of it.
    pub fn sent(
        &mut self,
        end: (usize, u32),
        now: Instant,
        sent: (&Transmission, &Stack),
        (path, verdict): (usize, &Verdict),
    ) {
        let ((host, _), (transmission, from)) = (end, sent);
        let packet = &transmission.packet;
        if let (Some(truth), Some(initial)) = (&mut self.truth, from.initial_number()) {
            let place = Place { position: verdict.position, initial };
            truth.sent(end, now, transmission, place);
        }
        let written = self.captures[host].as_mut().map(|tape| tape.sent(now, packet, (path, verdict)));
        self.note(written);
    }

    /// A path's verdict on an earlier packet of `host`, undecided until now.
    pub fn settled(&mut self, host: usize, (path, verdict): (usize, &Verdict)) {
        let written = self.captures[host].as_mut().map(|tape| tape.settled(path, verdict));
        self.note(written);
    }

    /// A packet arrives at `host`.
    pub fn received(&mut self, host: usize, now: Instant, packet: &Packet) {
        let written = self.captures[host].as_mut().map(|tape| tape.received(now, packet));
        self.note(written);
    }

    /// The end (host and connection) that a packet was for has handled it, and is `at` now.
    pub fn handled(&mut self, end: (usize, u32), now: Instant, packet: &Seen, at: &Stack) {
        if let Some(truth) = &mut self.truth {
            truth.handled(end, now, packet, at);
        }
    }

    /// Keeps the first failure for the end.
    fn note(&mut self, written: Option<io::Result<()>>) {
        if let Some(Err(e)) = written {
            self.failure.get_or_insert(e);
        }
    }

    /// The state of an end (host and connection) after an event, when its application has `written` so many bytes.
    pub fn state(&mut self, end: (usize, usize), now: Instant, written: u64, of: &Stack) {
        if let Some(log) = &mut self.states {
            log.note(end, now, written, Some(of.snapshot()));
        }
    }

    /// Closes the captures.
    pub fn finish(self) -> io::Result<Recorded> {
        if let Some(e) = self.failure {
            return Err(e);
        }
        let mut captures = [Vec::new(), Vec::new()];
        for (tape, bytes) in self.captures.into_iter().zip(&mut captures) {
            if let Some(tape) = tape {
                *bytes = tape.finish()?;
            }
        }
        let states = self.states.map(StateLog::into_rows).unwrap_or_default();
        let transmissions = self.truth.map(Truth::finish).unwrap_or_default();
        Ok(Recorded { states, transmissions, captures })
    }
}
