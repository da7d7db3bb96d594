//! The library as an entry of the registry of stacks, and what of a scenario it can honour.

use std::str::FromStr;
use std::sync::Arc;

use rexmit_stack::{
    About, Counters, Determinism, EndSettings, HostSettings, Outbox, RandomStream, RngCore, RunSettings,
    SettingError, SocketSpec, SocketWish, StackEnd, StackFactory, StackRun, read, settings_at,
};
use rexmit_units::{Bytes, Duration, Instant};
use rexmit_wire::SeqNumber;
use serde_json::Value;

use crate::{Association, AssociationConfig, Usrsctp, UsrsctpConfig, UsrsctpError};

/// The library looks at its timers so often.
const TICK: Duration = Duration::from_millis(1);

/// The smallest path, without the IP header (SCTP_SMALLEST_PMTU of the library's netinet/sctp_constants.h).
const LEAST_PACKET: u32 = 512;

/// FreeBSD's SCTP as a stack that hosts can run.
#[derive(Clone, Copy, Debug)]
pub struct UsrsctpStack;

static ABOUT: About = About {
    one_run_at_a_time: true,
    ..About::third_party::<UsrsctpConfig>(
        "usrsctp",
        "FreeBSD's SCTP as the library usrsctp has it",
        "libusrsctp 0.9.5.0",
        &["sctp"],
        Determinism::Bytes,
    )
};

impl StackFactory for UsrsctpStack {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn missing(&self) -> Option<&str> {
        crate::missing()
    }

    fn check_settings(&self, table: &Value) -> Result<(), SettingError> {
        let settings: UsrsctpConfig = read(table.clone())?;
        settings.check().map_err(|error| SettingError::new("", error.to_string()))
    }

    fn check_host(&self, host: &HostSettings<'_>) -> Result<Vec<String>, SettingError> {
        let least = LEAST_PACKET + if host.address.is_ipv4() { 20 } else { 40 };
        if host.mtu < least {
            let text = format!("usrsctp takes paths of {least} bytes and more here; give it a larger MTU");
            return Err(SettingError::new(host.key("mtu"), text));
        }
        let mut unsupported = settings_of(host).1;
        unsupported.extend(host.alternate_address.map(|_| "alternate".to_string()));
        Ok(unsupported)
    }

    fn check_sockets(&self, host: &HostSettings<'_>, wish: &SocketWish) -> Result<Vec<String>, SettingError> {
        let (changed, rest) = with_wish(&settings_of(host).0, wish);
        changed.check().map_err(|error| SettingError::new("socket", error.to_string()))?;
        Ok(rest)
    }

    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        let library = Usrsctp::start(run.phase("usrsctp.tick", TICK)).map_err(refused)?;
        let host = |host: &HostSettings<'_>| Host {
            settings: Arc::new(settings_of(host).0),
            mtu: host.mtu,
            seeds: (run.streams)(&host.key("tag")),
        };
        Ok(Box::new(Run { library, hosts: run.hosts.iter().map(host).collect() }))
    }
}

struct Run {
    library: Usrsctp,
    hosts: Vec<Host>,
}

struct Host {
    settings: Arc<UsrsctpConfig>,
    mtu: u32,
    /// Seeds of its ends, one after the other.
    seeds: RandomStream,
}

impl StackRun for Run {
    fn endpoint(&mut self, host: usize, end: &EndSettings) -> Result<Box<dyn StackEnd>, SettingError> {
        let host = &mut self.hosts[host];
        let mut settings = host.settings.clone();
        if let Some(wish) = &end.wish {
            settings = Arc::new(with_wish(&settings, wish).0);
        }
        if settings.streams < end.streams {
            Arc::make_mut(&mut settings).streams = end.streams;
        }
        let config = AssociationConfig {
            settings,
            local: end.local,
            remote: end.remote,
            mtu: host.mtu,
            role: end.role,
            seed: host.seeds.next_u64(),
        };
        Ok(Box::new(self.library.association(config).map_err(refused)?))
    }
}

/// The settings of a socket that is asked for this, and the keys of the transfer that the library has nothing for.
fn with_wish(settings: &UsrsctpConfig, wish: &SocketWish) -> (UsrsctpConfig, Vec<String>) {
    let mut changed = settings.clone();
    let mut rest = wish.clone();
    let SocketSpec { nagle, send_buffer, receive_buffer, .. } = &mut rest.socket;
    changed.nodelay = nagle.take().map_or(changed.nodelay, |on| !on);
    changed.send_buffer = send_buffer.take().unwrap_or(changed.send_buffer);
    changed.receive_buffer = receive_buffer.take().unwrap_or(changed.receive_buffer);
    (changed, rest.keys().collect())
}

fn refused(error: UsrsctpError) -> SettingError {
    SettingError::new("", error.to_string())
}

impl StackEnd for Association {
    fn counters(&self) -> &Counters {
        self.counters()
    }

    fn misplaced_bytes(&self) -> u64 {
        self.misplaced_bytes()
    }

    fn swap_outbox(&mut self, _now: Instant, outbox: &mut Outbox) {
        self.swap_outbox(outbox);
    }

    fn is_of_messages(&self) -> bool {
        true
    }

    fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        let count = end.diff(from).max(0) as u32;
        (0..count).all(|n| self.has_received(from + n))
    }
}

fn settings_of(host: &HostSettings<'_>) -> (UsrsctpConfig, Vec<String>) {
    settings_at(host, translate)
}

/// Sets what a value of a profile is in the library; `None` where it has no such setting.
fn translate(key: &str, value: &Value, settings: &mut UsrsctpConfig) -> Option<()> {
    fn text<T: FromStr>(value: &Value) -> Option<T> {
        value.as_str()?.parse().ok()
    }
    fn number<T: TryFrom<u64>>(value: &Value) -> Option<T> {
        value.as_u64()?.try_into().ok()
    }
    match key {
        "protocol" => (value.as_str() == Some("sctp")).then_some(())?,
        "rto.initial" => settings.rto_initial = text(value)?,
        "rto.min" => settings.rto_min = text(value)?,
        "rto.max" => settings.rto_max = text(value)?,
        "sack.delay" => settings.sack_delay = text::<Duration>(value)?,
        "sack.packets" => settings.sack_frequency = number(value)?,
        "congestion.max_burst" => settings.max_burst = number(value)?,
        "output.nagle" => settings.nodelay = !value.as_bool()?,
        "buffers.send" => settings.send_buffer = text::<Bytes>(value)?,
        "buffers.receive" => settings.receive_buffer = text(value)?,
        "association.outbound_streams" => settings.streams = number(value)?,
        "association.max_init_retransmits" => settings.init_retransmits = number(value)?,
        "association.max_retransmits" => settings.association_retransmits = number(value)?,
        "association.path_max_retransmits" => settings.path_retransmits = number(value)?,
        "heartbeat.interval" => settings.heartbeat = text(value)?,
        "heartbeat.enabled" if value.as_bool() == Some(false) => settings.heartbeat = Duration::ZERO,
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settings(stack: &Value, table: Option<&Value>) -> (UsrsctpConfig, Vec<String>) {
        settings_of(&HostSettings {
            name: "server",
            stack,
            settings: table,
            table: &(),
            profile: &(),
            protocol: "sctp",
            mtu: 1500,
            address: [10, 0, 2, 1].into(),
            peer: Some([10, 0, 1, 1].into()),
            alternate_address: None,
            qlog: false,
        })
    }

    #[test]
    fn single_values_of_a_profile_are_settings_of_the_library() {
        let stack = json!({ "inherits": "rfc9260", "rto": { "min": "200 ms" }, "sack": { "delay": "0 ns" },
                            "recovery": { "fast_recovery": false } });
        let table = json!({ "streams": 3, "rto_min": "300 ms" });
        let (settings, unsupported) = settings(&stack, Some(&table));
        assert_eq!((settings.sack_delay, settings.streams), (Duration::ZERO, 3));
        assert_eq!(settings.rto_min, Duration::from_millis(300), "its own table counts first");
        assert_eq!(unsupported, ["hosts.server.stack.recovery.fast_recovery"]);
    }

    #[test]
    fn the_name_of_a_profile_changes_nothing() {
        let (settings, unsupported) = settings(&json!("lksctp-2.6.15"), None);
        assert_eq!((settings, unsupported.len()), (UsrsctpConfig::default(), 0));
    }
}
