//! Captures and tables of a single run.

use std::io;

use rexmit_capture::{Direction, Options};
use rexmit_path::Verdict;
use rexmit_stack::Endpoint;
use rexmit_tcp::Connection;
use rexmit_units::Instant;
use rexmit_wire::Packet;

use crate::capture_file::CaptureFile;
use crate::options::RunOptions;
use crate::outcome::StateRow;

/// What is written down while a run goes on.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    captures: [Option<CaptureFile>; 2],
    pub states: Option<Vec<StateRow>>,
    failure: Option<io::Error>,
}

pub(crate) const HOSTS: [&str; 2] = ["server", "client"];

impl Recorder {
    /// `None` where nothing is to be written down.
    pub fn new(options: &RunOptions) -> io::Result<Option<Self>> {
        let paths = [&options.capture_server, &options.capture_client];
        if paths.iter().all(|p| p.is_none()) && !options.state {
            return Ok(None);
        }
        let mut recorder = Self { states: options.state.then(Vec::new), ..Self::default() };
        for (i, path) in paths.into_iter().enumerate() {
            if let Some(path) = path {
                let about = Options {
                    comment: options.comment.clone(),
                    description: Some(format!("the {}'s interface in virtual time", HOSTS[i])),
                    ..Options::default()
                };
                recorder.captures[i] = Some(CaptureFile::create(path, HOSTS[i], &about)?);
            }
        }
        Ok(Some(recorder))
    }

    /// A packet leaves `host`; the path has said what becomes of it.
    pub fn sent(&mut self, host: usize, now: Instant, packet: &Packet, verdict: &Verdict) {
        let comment = (!verdict.is_plain()).then(|| verdict.to_string());
        let written = self.captures[host]
            .as_mut()
            .map(|file| file.write_directed(now, packet, Some(Direction::Outbound), comment.as_deref()));
        self.note(written);
    }

    /// A packet arrives at `host`.
    pub fn received(&mut self, host: usize, now: Instant, packet: &Packet) {
        let written = self.captures[host]
            .as_mut()
            .map(|file| file.write_directed(now, packet, Some(Direction::Inbound), None));
        self.note(written);
    }

    /// Keeps the first failure for the end.
    fn note(&mut self, written: Option<io::Result<()>>) {
        if let Some(Err(e)) = written {
            self.failure.get_or_insert(e);
        }
    }

    /// The state of a connection after an event.
    pub fn state(&mut self, host: usize, connection: u32, now: Instant, of: &Connection) {
        if let Some(rows) = &mut self.states {
            let state = of.snapshot();
            let host = HOSTS[host];
            let last = rows.iter().rev().find(|r| r.host == host && r.connection == connection);
            if last.is_none_or(|r| r.state != state) {
                rows.push(StateRow { time: now, host, connection, state });
            }
        }
    }

    /// Closes the captures.
    pub fn finish(&mut self) -> io::Result<()> {
        if let Some(e) = self.failure.take() {
            return Err(e);
        }
        for file in &mut self.captures {
            if let Some(file) = file.take() {
                file.finish()?;
            }
        }
        Ok(())
    }
}
