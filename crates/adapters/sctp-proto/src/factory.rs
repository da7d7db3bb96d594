//! sctp-proto as an entry of the registry of stacks, and what of a scenario it can honour.

use rexmit_stack::{
    About, Determinism, EndSettings, HostSettings, RandomStream, RngCore, RunSettings, SettingError,
    SocketSpec, SocketWish, StackEnd, StackFactory, StackRun, read, seeded, settings_at,
};
use rexmit_units::Bytes;
use serde_json::Value;

use crate::config::SctpProtoConfig;
use crate::end::SctpEnd;

/// The smallest packet without the IP header: more than an INIT-ACK with its cookie.
const LEAST_PACKET: u32 = 128;

/// sctp-proto as a stack that hosts can run.
#[derive(Clone, Copy, Debug)]
pub struct SctpProtoStack;

static ABOUT: About = About::third_party::<SctpProtoConfig>(
    "sctp-proto",
    "sctp-proto, an SCTP of WebRTC in Rust",
    "sctp-proto 0.10.8",
    &["sctp"],
    Determinism::Bytes,
);

impl StackFactory for SctpProtoStack {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn check_settings(&self, table: &Value) -> Result<(), SettingError> {
        read::<SctpProtoConfig>(table.clone())?.check()
    }

    fn check_host(&self, host: &HostSettings<'_>) -> Result<Vec<String>, SettingError> {
        let least = LEAST_PACKET + if host.address.is_ipv4() { 20 } else { 40 };
        if host.mtu < least {
            let text = format!("sctp-proto takes paths of {least} bytes and more here; give it a larger MTU");
            return Err(SettingError::new(host.key("mtu"), text));
        }
        let (settings, mut unsupported) = settings_at(host, translate);
        settings.check().map_err(|error| {
            SettingError::new(host.key(&format!("sctp-proto.{}", error.key)), error.message)
        })?;
        unsupported.extend(host.alternate_address.map(|_| "alternate".to_string()));
        Ok(unsupported)
    }

    fn check_sockets(&self, host: &HostSettings<'_>, wish: &SocketWish) -> Result<Vec<String>, SettingError> {
        let (changed, rest) = with_wish(&settings_at(host, translate).0, wish);
        changed.check().map_err(|error| SettingError::new("socket", error.message))?;
        Ok(rest)
    }

    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        let host = |host: &HostSettings<'_>| Host {
            settings: settings_at(host, translate).0,
            mtu: host.mtu,
            seeds: (run.streams)(&host.key("sctp-proto")),
        };
        Ok(Box::new(Run { hosts: run.hosts.iter().map(host).collect() }))
    }
}

struct Run {
    hosts: Vec<Host>,
}

struct Host {
    settings: SctpProtoConfig,
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
        let random = seeded(host.seeds.next_u64());
        Ok(Box::new(SctpEnd::new(&settings, host.mtu, random, end)))
    }
}

/// The settings of a socket that is asked for this, and the keys of the transfer that sctp-proto has nothing for.
fn with_wish(settings: &SctpProtoConfig, wish: &SocketWish) -> (SctpProtoConfig, Vec<String>) {
    let mut changed = settings.clone();
    let mut rest = wish.clone();
    let SocketSpec { nagle, send_buffer, receive_buffer, .. } = &mut rest.socket;
    // It never waits to fill a packet.
    *nagle = nagle.filter(|on| *on);
    changed.send_buffer = send_buffer.take().unwrap_or(changed.send_buffer);
    changed.receive_buffer = receive_buffer.take().unwrap_or(changed.receive_buffer);
    (changed, rest.keys().collect())
}

/// Sets what a value of a profile is in sctp-proto; `None` where it has no such setting.
fn translate(key: &str, value: &Value, settings: &mut SctpProtoConfig) -> Option<()> {
    let time = || value.as_str()?.parse().ok();
    let bytes = || value.as_str()?.parse::<Bytes>().ok();
    let number = || u16::try_from(value.as_u64()?).ok();
    match key {
        "protocol" => (value.as_str() == Some("sctp")).then_some(())?,
        "rto.initial" => settings.rto_initial = time()?,
        "rto.min" => settings.rto_min = time()?,
        "rto.max" => settings.rto_max = time()?,
        "output.nagle" => (value.as_bool() == Some(false)).then_some(())?,
        "buffers.send" => settings.send_buffer = bytes()?,
        "buffers.receive" => settings.receive_buffer = bytes()?,
        "association.outbound_streams" => settings.streams = number()?,
        "association.max_init_retransmits" => settings.init_retransmits = number()?,
        "heartbeat.enabled" => (value.as_bool() == Some(false)).then_some(())?,
        _ => return None,
    }
    Some(())
}
