//! quinn as an entry of the registry of stacks, and what of a scenario it can honour.

use std::sync::Arc;

use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, IdleTimeout, MtuDiscoveryConfig,
    ServerConfig, TimeSource, TransportConfig, VarInt,
};
use rexmit_stack::quic::QuicProfile;
use rexmit_stack::{
    About, Determinism, EndSettings, HostSettings, RandomStream, RngCore, RunSettings, SettingError,
    SocketSpec, SocketWish, StackEnd, StackFactory, StackRun, read, seeded, with_table,
};
use rexmit_units::{Bytes, Duration};
use serde_json::Value;

use crate::config::{Congestion, QuinnConfig};
use crate::end::{QuinnEnd, Shared};
use crate::watched;

/// The smallest UDP payload that QUIC must be able to send (RFC 9000 section 14).
const LEAST_PAYLOAD: u32 = 1_200;
/// The headers of IPv6 and UDP.
const HEADERS: u32 = 48;
/// Connection IDs have so many bytes.
const ID_BYTES: usize = 8;

/// quinn as a stack that hosts can run.
#[derive(Clone, Copy, Debug)]
pub struct QuinnStack;

static ABOUT: About = About::third_party::<QuinnConfig>(
    "quinn",
    "quinn, a QUIC in Rust",
    "quinn-proto 0.11.19",
    &["quic"],
    Determinism::Bytes,
);

impl StackFactory for QuinnStack {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn check_settings(&self, table: &Value) -> Result<(), SettingError> {
        check(&read(table.clone())?)
    }

    fn check_host(&self, host: &HostSettings<'_>) -> Result<Vec<String>, SettingError> {
        let least = LEAST_PAYLOAD + HEADERS;
        if host.mtu < least {
            let text =
                format!("QUIC takes {least} bytes and more (RFC 9000 section 14); give it a larger MTU");
            return Err(SettingError::new(host.key("mtu"), text));
        }
        let (settings, mut unsupported) = settings_of(host)?;
        check(&settings)
            .map_err(|error| SettingError::new(host.key(&format!("quinn.{}", error.key)), error.message))?;
        unsupported.extend(host.alternate_address.map(|_| "alternate".to_string()));
        Ok(unsupported)
    }

    fn check_sockets(&self, host: &HostSettings<'_>, wish: &SocketWish) -> Result<Vec<String>, SettingError> {
        if let Some(name) = &wish.congestion
            && Congestion::named(name).is_none()
        {
            let text = format!("quinn has no {name:?}: reno, cubic or bbr");
            return Err(SettingError::new("congestion", text));
        }
        let (settings, rest) = with_wish(&settings_of(host)?.0, wish);
        check(&settings).map_err(|error| SettingError::new("socket", error.message))?;
        Ok(rest)
    }

    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        let host = |host: &HostSettings<'_>| {
            let settings = settings_of(host)?.0;
            let zero_rtt = settings.zero_rtt;
            Ok(Host {
                name: host.name.into(),
                settings,
                mtu: host.mtu,
                client: watched::client(zero_rtt)?,
                server: watched::server()?,
                streams: (run.streams)(&host.key("quinn")),
            })
        };
        let hosts = run.hosts.iter().map(host).collect::<Result<_, SettingError>>()?;
        Ok(Box::new(Run { hosts }))
    }
}

struct Run {
    hosts: Vec<Host>,
}

struct Host {
    name: Arc<str>,
    settings: QuinnConfig,
    mtu: u32,
    client: Arc<dyn quinn_proto::crypto::ClientConfig>,
    server: Arc<dyn quinn_proto::crypto::ServerConfig>,
    /// Seeds of its ends, one after the other.
    streams: RandomStream,
}

impl StackRun for Run {
    fn endpoint(&mut self, host: usize, end: &EndSettings) -> Result<Box<dyn StackEnd>, SettingError> {
        let host = &mut self.hosts[host];
        let settings = match &end.wish {
            Some(wish) => with_wish(&host.settings, wish).0,
            None => host.settings.clone(),
        };
        let random = seeded(host.streams.next_u64());
        Ok(Box::new(QuinnEnd::new(&shared(host, &settings, end), random, end)))
    }
}

/// An end of a host with these settings alone.
#[cfg(test)]
pub(crate) fn end_of(
    settings: &QuinnConfig,
    mtu: u32,
    seed: u64,
    end: &EndSettings,
) -> Result<QuinnEnd, SettingError> {
    let (client, server) = (watched::client(settings.zero_rtt)?, watched::server()?);
    let host =
        Host { name: "test".into(), settings: settings.clone(), mtu, client, server, streams: seeded(seed) };
    Ok(QuinnEnd::new(&shared(&host, settings, end), seeded(seed), end))
}

/// quinn's own settings of an end.
fn shared(host: &Host, settings: &QuinnConfig, end: &EndSettings) -> Shared {
    let v6 = if end.local.is_ipv6() { 20 } else { 0 };
    let payload = (host.mtu - 28 - v6).min(u16::MAX.into()) as u16;
    let transport = Arc::new(transport(settings, payload, end.streams));
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &[0; 64]);
    let mut endpoint = EndpointConfig::new(Arc::new(key));
    endpoint.cid_generator(|| Box::new(Ids));
    endpoint.max_udp_payload_size(payload).ok();
    let mut client = ClientConfig::new(host.client.clone());
    client.transport_config(transport.clone()).initial_dst_cid_provider(Arc::new(new_id));
    let secret = ring::hkdf::Salt::new(ring::hkdf::HKDF_SHA256, &[]).extract(&[0; 64]);
    let mut server = ServerConfig::new(host.server.clone(), Arc::new(secret));
    server.transport_config(transport).migration(false).time_source(Arc::new(Time));
    Shared {
        host: host.name.clone(),
        endpoint: Arc::new(endpoint),
        client,
        server: Arc::new(server),
        mtu: host.mtu,
        mtu_discovery: settings.mtu_discovery,
    }
}

fn transport(settings: &QuinnConfig, payload: u16, streams: u16) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let window = |size: Bytes| VarInt::from_u64(size.0).unwrap_or(VarInt::MAX);
    transport
        .congestion_controller_factory(controller(settings))
        .initial_rtt(std_time(settings.initial_rtt))
        .packet_threshold(settings.packet_threshold)
        .time_threshold(settings.time_threshold)
        .stream_receive_window(window(settings.stream_window))
        .send_window(settings.send_window.0)
        .max_idle_timeout(IdleTimeout::try_from(std_time(settings.idle_timeout)).ok())
        .keep_alive_interval(settings.keep_alive.map(std_time))
        .max_concurrent_uni_streams(VarInt::from_u32(u32::from(streams).max(100)))
        .enable_segmentation_offload(false);
    if let Some(size) = settings.receive_window {
        transport.receive_window(window(size));
    }
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(payload);
    transport.mtu_discovery_config(settings.mtu_discovery.then_some(discovery));
    transport
}

fn controller(settings: &QuinnConfig) -> Arc<dyn ControllerFactory + Send + Sync> {
    macro_rules! with_window {
        ($config:ty) => {{
            let mut config = <$config>::default();
            if let Some(size) = settings.initial_window {
                config.initial_window(size.0);
            }
            Arc::new(config)
        }};
    }
    match settings.congestion {
        Congestion::Reno => with_window!(NewRenoConfig),
        Congestion::Cubic => with_window!(CubicConfig),
        Congestion::Bbr => with_window!(BbrConfig),
    }
}

/// Connection IDs from the run's random numbers.
struct Ids;

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        new_id()
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

fn new_id() -> ConnectionId {
    let mut id = [0; ID_BYTES];
    rexmit_tls::fill(&mut id).unwrap_or_default();
    ConnectionId::new(&id)
}

struct Time;

impl TimeSource for Time {
    fn now(&self) -> std::time::SystemTime {
        std::time::UNIX_EPOCH + std::time::Duration::from_secs(rexmit_tls::unix_time())
    }
}

fn std_time(time: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(time.as_nanos())
}

fn check(settings: &QuinnConfig) -> Result<(), SettingError> {
    let windows = [
        ("initial_window", settings.initial_window),
        ("stream_window", Some(settings.stream_window)),
        ("receive_window", settings.receive_window),
        ("send_window", Some(settings.send_window)),
    ];
    for (key, size) in windows {
        if size.is_some_and(|size| !(1..1 << 62).contains(&size.0)) {
            return Err(SettingError::new(key, "allowed: 1 byte to 2^62 - 1 bytes (RFC 9000 section 16)"));
        }
    }
    if settings.initial_rtt.is_zero() {
        return Err(SettingError::new("initial_rtt", "allowed: longer than zero, such as \"333 ms\""));
    }
    if settings.packet_threshold < 3 {
        return Err(SettingError::new("packet_threshold", "allowed: 3 and more (RFC 9002 section 6.1.1)"));
    }
    if !(settings.time_threshold > 1.0 && settings.time_threshold <= 100.0) {
        return Err(SettingError::new("time_threshold", "allowed: more than 1, up to 100 RTTs"));
    }
    Ok(())
}

/// The settings of a connection that is asked for this, and the keys of the transfer that quinn has nothing for.
fn with_wish(settings: &QuinnConfig, wish: &SocketWish) -> (QuinnConfig, Vec<String>) {
    let mut changed = settings.clone();
    let mut rest = wish.clone();
    if let Some(congestion) = rest.congestion.take().and_then(|name| Congestion::named(&name)) {
        changed.congestion = congestion;
    }
    let SocketSpec { send_buffer, receive_buffer, .. } = &mut rest.socket;
    changed.send_window = send_buffer.take().unwrap_or(changed.send_window);
    changed.receive_window = receive_buffer.take().or(changed.receive_window);
    (changed, rest.keys().collect())
}

/// The settings of quinn at a host, and the keys of its profile that quinn has nothing for. What stands in the table `quinn`
/// counts before what the profile says.
fn settings_of(host: &HostSettings<'_>) -> Result<(QuinnConfig, Vec<String>), SettingError> {
    let profile = host.profile_of::<QuicProfile>()?;
    let mut settings = QuinnConfig::default();
    let mut unsupported = Vec::new();
    if let Some(name) = &profile.congestion.algorithm {
        match Congestion::named(name) {
            Some(congestion) => settings.congestion = congestion,
            None => unsupported.push(host.key("stack.congestion.algorithm")),
        }
    }
    let recovery = &profile.recovery;
    settings.initial_window = profile.congestion.initial_window;
    settings.initial_rtt = recovery.initial_rtt.unwrap_or(settings.initial_rtt);
    settings.packet_threshold = recovery.packet_threshold.unwrap_or(settings.packet_threshold);
    settings.time_threshold = recovery.time_threshold.map_or(settings.time_threshold, |times| times as f32);
    settings.receive_window = profile.windows.receive;
    settings.stream_window = profile.windows.stream.unwrap_or(settings.stream_window);
    settings.send_window = profile.windows.send.unwrap_or(settings.send_window);
    settings.idle_timeout = profile.idle_timeout.unwrap_or(settings.idle_timeout);
    if profile.max_ack_delay.is_some() {
        unsupported.push(host.key("stack.max_ack_delay"));
    }
    Ok((with_table(settings, host.settings), unsupported))
}
