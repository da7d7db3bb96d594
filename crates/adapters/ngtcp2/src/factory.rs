//! ngtcp2 as an entry of the registry of stacks, and what of a scenario it can honour.

use rexmit_stack::quic::QuicProfile;
use rexmit_stack::{
    About, Determinism, HostSettings, RunSettings, SettingError, SocketSpec, SocketWish, StackFactory,
    StackRun, read, with_table,
};
use serde_json::Value;

use crate::config::{Ngtcp2Config, Ngtcp2Congestion};

/// The smallest UDP payload that QUIC must be able to send (RFC 9000 section 14).
const LEAST_PAYLOAD: u32 = 1_200;
/// The headers of IPv6 and UDP.
const HEADERS: u32 = 48;

/// ngtcp2 as a stack that hosts can run.
#[derive(Clone, Copy, Debug)]
pub struct Ngtcp2Stack;

static ABOUT: About = About::third_party::<Ngtcp2Config>(
    "ngtcp2",
    "ngtcp2, a QUIC in C",
    "ngtcp2 0.12.1",
    &["quic"],
    Determinism::Bytes,
);

impl StackFactory for Ngtcp2Stack {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn missing(&self) -> Option<&str> {
        option_env!("REXMIT_NGTCP2_MISSING")
    }

    fn check_settings(&self, table: &Value) -> Result<(), SettingError> {
        read::<Ngtcp2Config>(table.clone())?.check()
    }

    fn check_host(&self, host: &HostSettings<'_>) -> Result<Vec<String>, SettingError> {
        let least = LEAST_PAYLOAD + HEADERS;
        if host.mtu < least {
            let text =
                format!("QUIC takes {least} bytes and more (RFC 9000 section 14); give it a larger MTU");
            return Err(SettingError::new(host.key("mtu"), text));
        }
        let (settings, mut unsupported) = settings_of(host)?;
        settings
            .check()
            .map_err(|error| SettingError::new(host.key(&format!("ngtcp2.{}", error.key)), error.message))?;
        unsupported.extend(host.alternate_address.map(|_| "alternate".to_string()));
        Ok(unsupported)
    }

    fn check_sockets(&self, host: &HostSettings<'_>, wish: &SocketWish) -> Result<Vec<String>, SettingError> {
        if let Some(name) = &wish.congestion
            && Ngtcp2Congestion::named(name).is_none()
        {
            let text = format!("ngtcp2 has no {name:?}: reno, cubic, bbr or bbr2");
            return Err(SettingError::new("congestion", text));
        }
        let (settings, rest) = with_wish(&settings_of(host)?.0, wish);
        settings.check().map_err(|error| SettingError::new("socket", error.message))?;
        Ok(rest)
    }

    #[cfg(ngtcp2)]
    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        Ok(Box::new(running::Run::start(run)?))
    }

    #[cfg(not(ngtcp2))]
    fn start(&self, _run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        let what = option_env!("REXMIT_NGTCP2_MISSING").unwrap_or_default();
        Err(SettingError::new("", format!("stack ngtcp2: {what}")))
    }
}

#[cfg(ngtcp2)]
pub(crate) mod running {
    use std::sync::Arc;

    use rexmit_stack::{
        EndSettings, HostSettings, RandomStream, RngCore, Role, RunSettings, SettingError, StackEnd,
        StackRun, seeded,
    };
    use rexmit_units::Bytes;

    use super::{Ngtcp2Config, Ngtcp2Congestion, settings_of, with_wish};
    use crate::end::{Made, Ngtcp2End};
    use crate::ffi::Settings;
    use crate::handshake::Party;

    pub(super) struct Run {
        hosts: Vec<Host>,
    }

    pub(crate) struct Host {
        name: Arc<str>,
        settings: Ngtcp2Config,
        mtu: u32,
        /// Its connections are logged.
        qlog: bool,
        client: Arc<rustls::ClientConfig>,
        server: Arc<rustls::ServerConfig>,
        /// Seeds of its ends, one after the other.
        streams: RandomStream,
    }

    impl Run {
        pub fn start(run: &RunSettings<'_>) -> Result<Self, SettingError> {
            let host = |host: &HostSettings<'_>| {
                let streams = (run.streams)(&host.key("ngtcp2"));
                Ok(Host {
                    name: host.name.into(),
                    ..Host::new(settings_of(host)?.0, host.mtu, host.qlog, streams)?
                })
            };
            Ok(Self { hosts: run.hosts.iter().map(host).collect::<Result<_, _>>()? })
        }
    }

    impl StackRun for Run {
        fn endpoint(&mut self, host: usize, end: &EndSettings) -> Result<Box<dyn StackEnd>, SettingError> {
            Ok(Box::new(self.hosts[host].end(end)))
        }
    }

    impl Host {
        pub fn new(
            settings: Ngtcp2Config,
            mtu: u32,
            qlog: bool,
            streams: RandomStream,
        ) -> Result<Self, SettingError> {
            let failed = |error| SettingError::new("", format!("ngtcp2's TLS: {error}"));
            let client = Arc::new(rexmit_tls::client_config(settings.zero_rtt).map_err(failed)?);
            let server = Arc::new(rexmit_tls::server_config().map_err(failed)?);
            Ok(Self { name: "".into(), settings, mtu, qlog, client, server, streams })
        }

        pub fn end(&mut self, end: &EndSettings) -> Ngtcp2End {
            let wished = end.wish.as_ref().map(|wish| with_wish(&self.settings, wish).0);
            let settings = wished.as_ref().unwrap_or(&self.settings);
            let party = match end.role {
                Role::Active => Party::Client(self.client.clone()),
                Role::Passive => Party::Server(self.server.clone()),
            };
            let library = library(settings, self.mtu, self.qlog, end);
            let made = Made { host: self.name.clone(), library, party, send_window: settings.send_window.0 };
            Ngtcp2End::new(made, seeded(self.streams.next_u64()), end)
        }
    }

    /// The library's own settings of an end.
    fn library(settings: &Ngtcp2Config, mtu: u32, qlog: bool, end: &EndSettings) -> Settings {
        let headers = if end.local.is_ipv6() { 48 } else { 28 };
        let most = |size: Option<Bytes>, least: Bytes| size.map_or(0, |size| size.0.max(least.0));
        Settings {
            server: (end.role == Role::Passive).into(),
            congestion: match settings.congestion {
                Ngtcp2Congestion::Reno => 0,
                Ngtcp2Congestion::Cubic => 1,
                Ngtcp2Congestion::Bbr => 2,
                Ngtcp2Congestion::Bbr2 => 3,
            },
            now: 0,
            initial_rtt: settings.initial_rtt.as_nanos(),
            handshake_timeout: settings.handshake_timeout.as_nanos(),
            idle_timeout: settings.idle_timeout.as_nanos(),
            keep_alive: settings.keep_alive.map_or(0, |time| time.as_nanos()),
            max_ack_delay: settings.max_ack_delay.as_nanos(),
            ack_threshold: settings.ack_threshold.into(),
            receive_window: settings.receive_window.0,
            most_receive_window: most(settings.most_receive_window, settings.receive_window),
            stream_window: settings.stream_window.0,
            most_stream_window: most(settings.most_stream_window, settings.stream_window),
            streams: u64::from(end.streams).max(100),
            payload: (mtu - headers).min(u32::from(u16::MAX) - headers).into(),
            mtu_discovery: settings.mtu_discovery.into(),
            datagrams: end.datagrams.into(),
            qlog: qlog.into(),
        }
    }
}

/// The settings of a connection that is asked for this, and the keys of the transfer that ngtcp2 has nothing for.
fn with_wish(settings: &Ngtcp2Config, wish: &SocketWish) -> (Ngtcp2Config, Vec<String>) {
    let mut changed = settings.clone();
    let mut rest = wish.clone();
    if let Some(congestion) = rest.congestion.take().and_then(|name| Ngtcp2Congestion::named(&name)) {
        changed.congestion = congestion;
    }
    let SocketSpec { send_buffer, receive_buffer, .. } = &mut rest.socket;
    changed.send_window = send_buffer.take().unwrap_or(changed.send_window);
    if let Some(size) = receive_buffer.take() {
        (changed.receive_window, changed.most_receive_window) = (size, None);
    }
    (changed, rest.keys().collect())
}

/// The settings of ngtcp2 at a host, and the keys of its profile that ngtcp2 has nothing for: its first window and its thresholds
/// of loss are constants. What stands in the table `ngtcp2` counts before what the profile says; a window that the profile sets
/// does not grow.
fn settings_of(host: &HostSettings<'_>) -> Result<(Ngtcp2Config, Vec<String>), SettingError> {
    let profile = host.profile_of::<QuicProfile>()?;
    let mut settings = Ngtcp2Config::default();
    let mut unsupported = Vec::new();
    if let Some(name) = &profile.congestion.algorithm {
        match Ngtcp2Congestion::named(name) {
            Some(congestion) => settings.congestion = congestion,
            None => unsupported.push(host.key("stack.congestion.algorithm")),
        }
    }
    let constants = [
        ("stack.congestion.initial_window", profile.congestion.initial_window.is_some()),
        ("stack.recovery.packet_threshold", profile.recovery.packet_threshold.is_some()),
        ("stack.recovery.time_threshold", profile.recovery.time_threshold.is_some()),
    ];
    unsupported.extend(constants.iter().filter(|(_, is_set)| *is_set).map(|(key, _)| host.key(key)));
    settings.initial_rtt = profile.recovery.initial_rtt.unwrap_or(settings.initial_rtt);
    settings.max_ack_delay = profile.max_ack_delay.unwrap_or(settings.max_ack_delay);
    settings.idle_timeout = profile.idle_timeout.unwrap_or(settings.idle_timeout);
    settings.send_window = profile.windows.send.unwrap_or(settings.send_window);
    if let Some(size) = profile.windows.receive {
        (settings.receive_window, settings.most_receive_window) = (size, None);
    }
    if let Some(size) = profile.windows.stream {
        (settings.stream_window, settings.most_stream_window) = (size, None);
    }
    Ok((with_table(settings, host.settings), unsupported))
}
