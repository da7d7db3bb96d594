//! The model as an entry of the registry of stacks.

use std::sync::Arc;

use rexmit_stack::{
    About, Counters, EndSettings, HostSettings, Outbox, RandomStream, RngCore, RunSettings, SettingError,
    SocketSpec, SocketWish, StackEnd, StackFactory, StackRun,
};
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use crate::{Association, AssociationConfig, Profile};

/// The SCTP model; a host's profile says how it behaves.
#[derive(Clone, Copy, Debug)]
pub struct SctpModel;

static ABOUT: About = About::model("the SCTP model, by the host's profile", &["sctp"]);

impl StackFactory for SctpModel {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn check_sockets(&self, host: &HostSettings<'_>, wish: &SocketWish) -> Result<Vec<String>, SettingError> {
        let (changed, rest) = with_wish(&host.profile_of()?, wish);
        changed.check().map_err(|(key, text)| SettingError::new("socket", format!("{key}: {text}")))?;
        Ok(rest)
    }

    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        let host = |host: &HostSettings<'_>| {
            Ok(Host {
                profile: host.profile_of()?,
                mtu: host.mtu,
                tsns: (run.streams)(&host.key("iss")),
                secrets: (run.streams)(&host.key("tag")),
            })
        };
        let hosts = run.hosts.iter().map(host).collect::<Result<_, _>>()?;
        Ok(Box::new(SctpRun { hosts }))
    }
}

/// The model started for a run.
pub struct SctpRun {
    hosts: Vec<Host>,
}

struct Host {
    profile: Arc<Profile>,
    mtu: u32,
    /// Initial TSNs, one after the other.
    tsns: RandomStream,
    /// Tags and keys, in turn.
    secrets: RandomStream,
}

impl StackRun for SctpRun {
    fn endpoint(&mut self, host: usize, end: &EndSettings) -> Result<Box<dyn StackEnd>, SettingError> {
        Ok(self.association(host, end))
    }
}

impl SctpRun {
    /// [`StackRun::endpoint`] as it is.
    pub fn association(&mut self, host: usize, end: &EndSettings) -> Box<Association> {
        let host = &mut self.hosts[host];
        let wished = end.wish.as_ref().map(|wish| with_wish(&host.profile, wish).0);
        let mut association = Association::new(AssociationConfig {
            profile: with_streams(wished.as_ref().unwrap_or(&host.profile), end.streams),
            local: end.local,
            remote: end.remote,
            more_local: end.more_local.into_iter().collect(),
            more_remote: Vec::new(),
            mtu: host.mtu,
            phase: end.phase,
            role: end.role,
            tag: (host.secrets.next_u64() >> 32).max(1) as u32,
            initial_tsn: host.tsns.next_u32(),
            secret: host.secrets.next_u64(),
        });
        if end.marks_places {
            association.mark_places();
        }
        Box::new(association)
    }
}

/// The profile of a socket that is asked for this, and the keys of the transfer that the model has nothing for.
fn with_wish(profile: &Arc<Profile>, wish: &SocketWish) -> (Arc<Profile>, Vec<String>) {
    let mut changed = Arc::clone(profile);
    let own = Arc::make_mut(&mut changed);
    let mut rest = wish.clone();
    let SocketSpec { nagle, send_buffer, receive_buffer, .. } = &mut rest.socket;
    own.output.nagle = nagle.take().unwrap_or(own.output.nagle);
    own.buffers.send = send_buffer.take().unwrap_or(own.buffers.send);
    own.buffers.receive = receive_buffer.take().unwrap_or(own.buffers.receive);
    (changed, rest.keys().collect())
}

/// The profile, asking for and taking at least this many streams, as an application would (RFC 6458 section 5.3.1).
fn with_streams(profile: &Arc<Profile>, streams: u16) -> Arc<Profile> {
    let mut profile = profile.clone();
    let rules = &profile.association;
    if rules.outbound_streams.min(rules.inbound_streams) < streams {
        let rules = &mut Arc::make_mut(&mut profile).association;
        rules.outbound_streams = rules.outbound_streams.max(streams);
        rules.inbound_streams = rules.inbound_streams.max(streams);
    }
    profile
}

impl StackEnd for Association {
    #[inline]
    fn counters(&self) -> &Counters {
        self.counters()
    }

    fn misplaced_bytes(&self) -> u64 {
        self.misplaced_bytes()
    }

    #[inline]
    fn swap_outbox(&mut self, _now: Instant, outbox: &mut Outbox) {
        self.swap_outbox(outbox);
    }

    fn is_of_messages(&self) -> bool {
        true
    }

    fn initial_number(&self) -> Option<SeqNumber> {
        Some(SeqNumber(self.initial_tsn()))
    }

    fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        let count = end.diff(from).max(0) as u32;
        (0..count).all(|n| self.has_received(from.0.wrapping_add(n)))
    }
}
