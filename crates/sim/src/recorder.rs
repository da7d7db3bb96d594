//! Captures and tables of a single run.

use std::io;

use rexmit_capture::{Options, Writer};
use rexmit_network::{ByHost, EndId, HostId, LinkId, Network};
use rexmit_path::Verdict;
use rexmit_stack::{Endpoint, Transmission};
use rexmit_units::Instant;
use rexmit_wire::Packet;

use crate::capture_file::CaptureFile;
use crate::options::RunOptions;
use crate::qlog::Qlogs;
use crate::stack::Stack;
use crate::tape::{Capture, Tape};
use crate::truth::{Place, Seen, TransmissionRow, Truth};
use rexmit_scenario::{StateLog, StateRow};

/// What is written down while a run goes on.
#[derive(Debug)]
pub(crate) struct Recorder {
    captures: ByHost<Option<Tape>>,
    states: Option<StateLog>,
    truth: Option<Truth>,
    logs: Qlogs,
    failure: Option<io::Error>,
}

/// A packet that leaves an end, and what the link says becomes of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent<'a> {
    pub transmission: &'a Transmission,
    pub link: LinkId,
    pub verdict: &'a Verdict,
}

/// What was written down.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub states: Vec<StateRow>,
    pub transmissions: Vec<TransmissionRow>,
    pub captures: ByHost<Vec<u8>>,
}

impl Recorder {
    /// `None` where nothing is to be written down.
    pub fn new(options: &RunOptions, network: &Network) -> io::Result<Option<Self>> {
        let captures = options.captures || network.hosts().any(|host| options.capture_at(host).is_some());
        if !captures && options.state.is_none() && !options.transmissions {
            return Ok(None);
        }
        let files = network.by_host(|host| options.capture_at(host));
        let tape = |host: HostId| {
            let name = network.host_name(host);
            let about = Options {
                comment: options.comment.clone(),
                snap_len: options.capture_snap_len,
                description: Some(format!("the {name}'s interface in virtual time")),
                ..Options::default()
            };
            let capture = match files[host] {
                _ if options.captures => {
                    Some(Capture::Bytes(Writer::with_options(Vec::new(), name, &about)?))
                }
                Some(path) => Some(Capture::File(CaptureFile::create(path, name, &about)?)),
                None => None,
            };
            Ok::<_, io::Error>(capture.map(Tape::new))
        };
        Ok(Some(Self {
            captures: network.try_by_host(tape)?,
            states: options.state.map(StateLog::new),
            truth: options.transmissions.then(Truth::default),
            logs: Qlogs::new(network.by_host(|host| options.qlog_at(host))),
            failure: None,
        }))
    }

    /// A packet leaves an end, which is `from` now.
    pub fn sent(&mut self, end: EndId, now: Instant, sent: &Sent<'_>, from: &Stack) {
        let Sent { transmission, link, verdict } = *sent;
        if let (Some(truth), Some(initial)) = (&mut self.truth, from.initial_number()) {
            let place = Place { position: verdict.position, initial };
            truth.sent(end, now, transmission, place);
        }
        let tape = self.captures[end.host].as_mut();
        let written = tape.map(|tape| tape.sent(now, &transmission.packet, link, verdict));
        self.note(written);
    }

    /// Secrets of an end's encryption, which both hosts' captures need.
    pub fn secrets(&mut self, hosts: [HostId; 2], lines: &str) {
        for host in hosts {
            let written = self.captures[host].as_mut().map(|tape| tape.secrets(lines));
            self.note(written);
        }
    }

    /// What the code of an end has logged at `now`.
    pub fn qlog(&mut self, end: EndId, now: Instant, records: &[u8]) {
        let written = self.logs.write(end, now, records);
        self.note(Some(written));
    }

    /// A link's verdict on an earlier packet of `host`, undecided until now.
    pub fn settled(&mut self, host: HostId, link: LinkId, verdict: &Verdict) {
        let written = self.captures[host].as_mut().map(|tape| tape.settled(link, verdict));
        self.note(written);
    }

    /// A packet arrives at `host`.
    pub fn received(&mut self, host: HostId, now: Instant, packet: &Packet) {
        let written = self.captures[host].as_mut().map(|tape| tape.received(now, packet));
        self.note(written);
    }

    /// A packet of `sender` has been handled by the end that it was for, which is `at` now.
    pub fn handled(&mut self, sender: EndId, now: Instant, packet: &Seen, at: &Stack) {
        if let Some(truth) = &mut self.truth {
            truth.handled(sender, now, packet, at);
        }
    }

    /// Keeps the first failure for the end.
    fn note(&mut self, written: Option<io::Result<()>>) {
        if let Some(Err(e)) = written {
            self.failure.get_or_insert(e);
        }
    }

    /// The state of an end after an event, when its application has `written` this many bytes.
    pub fn state(&mut self, end: EndId, now: Instant, written: u64, of: &Stack) {
        if let Some(log) = &mut self.states {
            log.note(end, now, written, Some(of.snapshot()));
        }
    }

    /// Closes the captures.
    pub fn finish(self) -> io::Result<Recorded> {
        if let Some(e) = self.failure {
            return Err(e);
        }
        let bytes = |tape: Option<Tape>| tape.map_or_else(|| Ok(Vec::new()), Tape::finish);
        let captures = self.captures.into_values().map(bytes).collect::<io::Result<_>>()?;
        self.logs.finish()?;
        let states = self.states.map(StateLog::into_rows).unwrap_or_default();
        let transmissions = self.truth.map(Truth::finish).unwrap_or_default();
        Ok(Recorded { states, transmissions, captures })
    }
}
