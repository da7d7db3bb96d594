//! smoltcp as an entry of the registry of stacks, and what of a scenario it can honour.

use rexmit_stack::{
    About, Determinism, EndSettings, HostSettings, RandomStream, RngCore, RunSettings, SettingError,
    SocketSpec, SocketWish, StackEnd, StackFactory, StackRun, read, settings_at,
};
use rexmit_units::Bytes;
use serde_json::Value;

use crate::config::{Congestion, SmoltcpConfig};
use crate::end::SmolEnd;

/// The smallest MTU: that of IPv6, and more than an IPv4 header and TCP's with all options.
const LEAST_MTU: u32 = 128;
/// A buffer above this would have a window that no option can tell (RFC 7323 section 2.3).
const MOST_BUFFER: u64 = 1 << 30;

/// smoltcp as a stack that hosts can run.
#[derive(Clone, Copy, Debug)]
pub struct SmoltcpStack;

static ABOUT: About = About::third_party::<SmoltcpConfig>(
    "smoltcp",
    "smoltcp, a TCP for embedded systems",
    "smoltcp 0.14",
    &["tcp"],
    Determinism::Bytes,
);

impl StackFactory for SmoltcpStack {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn check_settings(&self, table: &Value) -> Result<(), SettingError> {
        check(&read(table.clone())?)
    }

    fn check_host(&self, host: &HostSettings<'_>) -> Result<Vec<String>, SettingError> {
        if host.mtu < LEAST_MTU {
            let text = format!("smoltcp takes {LEAST_MTU} bytes and more; give it a larger MTU");
            return Err(SettingError::new(host.key("mtu"), text));
        }
        let (settings, mut unsupported) = settings_of(host);
        check(&settings)
            .map_err(|error| SettingError::new(host.key(&format!("smoltcp.{}", error.key)), error.message))?;
        unsupported.extend(host.alternate_address.map(|_| "alternate".to_string()));
        Ok(unsupported)
    }

    fn check_sockets(&self, host: &HostSettings<'_>, wish: &SocketWish) -> Result<Vec<String>, SettingError> {
        if let Some(name) = &wish.congestion
            && Congestion::named(name).is_none()
        {
            return Err(SettingError::new(
                "congestion",
                format!("smoltcp has no {name:?}: none, reno or cubic"),
            ));
        }
        let (settings, rest) = with_wish(&settings_of(host).0, wish);
        check(&settings).map_err(|error| SettingError::new("socket", error.message))?;
        Ok(rest)
    }

    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        let host = |host: &HostSettings<'_>| Host {
            settings: settings_of(host).0,
            mtu: host.mtu,
            seeds: (run.streams)(&host.key("smoltcp")),
        };
        Ok(Box::new(Run { hosts: run.hosts.iter().map(host).collect() }))
    }
}

struct Run {
    hosts: Vec<Host>,
}

struct Host {
    settings: SmoltcpConfig,
    mtu: u32,
    /// Seeds of its ends, one after the other.
    seeds: RandomStream,
}

impl StackRun for Run {
    fn endpoint(&mut self, host: usize, end: &EndSettings) -> Result<Box<dyn StackEnd>, SettingError> {
        let host = &mut self.hosts[host];
        let settings = match &end.wish {
            Some(wish) => with_wish(&host.settings, wish).0,
            None => host.settings.clone(),
        };
        Ok(Box::new(SmolEnd::new(&settings, host.mtu, host.seeds.next_u64(), end)))
    }
}

fn check(settings: &SmoltcpConfig) -> Result<(), SettingError> {
    for (key, size) in [("send_buffer", settings.send_buffer), ("receive_buffer", settings.receive_buffer)] {
        if !(1..=MOST_BUFFER).contains(&size.0) {
            return Err(SettingError::new(key, "allowed: 1 byte to 1 GiB"));
        }
    }
    if !settings.ack_delay.as_nanos().is_multiple_of(1_000) {
        return Err(SettingError::new(
            "ack_delay",
            "smoltcp counts whole microseconds; allowed: such as \"10 ms\"",
        ));
    }
    Ok(())
}

/// The settings of a socket that is asked for this, and the keys of the transfer that smoltcp has nothing for.
fn with_wish(settings: &SmoltcpConfig, wish: &SocketWish) -> (SmoltcpConfig, Vec<String>) {
    let mut changed = settings.clone();
    let mut rest = wish.clone();
    if let Some(congestion) = rest.congestion.take().and_then(|name| Congestion::named(&name)) {
        changed.congestion = congestion;
    }
    let SocketSpec { nagle, send_buffer, receive_buffer, .. } = &mut rest.socket;
    changed.nagle = nagle.take().unwrap_or(changed.nagle);
    changed.send_buffer = send_buffer.take().unwrap_or(changed.send_buffer);
    changed.receive_buffer = receive_buffer.take().unwrap_or(changed.receive_buffer);
    (changed, rest.keys().collect())
}

fn settings_of(host: &HostSettings<'_>) -> (SmoltcpConfig, Vec<String>) {
    settings_at(host, translate)
}

/// Sets what a value of a profile is in smoltcp; `None` where it has no such setting.
fn translate(key: &str, value: &Value, settings: &mut SmoltcpConfig) -> Option<()> {
    let bytes = || value.as_str()?.parse::<Bytes>().ok();
    match key {
        "protocol" => (value.as_str() == Some("tcp")).then_some(())?,
        "congestion.algorithm" => settings.congestion = Congestion::named(value.as_str()?)?,
        "options.timestamps" => settings.timestamps = value.as_bool()?,
        "buffers.send" => settings.send_buffer = bytes()?,
        "buffers.receive" => settings.receive_buffer = bytes()?,
        _ => return None,
    }
    Some(())
}
