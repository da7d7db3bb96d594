//! lwIP as an entry of the registry of stacks, and what of a scenario it can honour.

use rexmit_stack::{
    About, Determinism, HostSettings, RunSettings, SettingError, SocketSpec, SocketWish, StackFactory,
    StackRun, read, settings_at,
};
use rexmit_units::Bytes;
use serde_json::Value;

use crate::config::LwipConfig;

/// The smallest MTU: more than an IPv6 header, TCP's with all options, and a few bytes.
const LEAST_MTU: u32 = 128;

/// lwIP as a stack that hosts can run.
#[derive(Clone, Copy, Debug)]
pub struct LwipStack;

static ABOUT: About = About::third_party::<LwipConfig>(
    "lwip",
    "lwIP, a TCP for small systems",
    "lwIP 2.1.3",
    &["tcp"],
    Determinism::Bytes,
);

impl StackFactory for LwipStack {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn missing(&self) -> Option<&str> {
        option_env!("REXMIT_LWIP_MISSING")
    }

    fn check_settings(&self, table: &Value) -> Result<(), SettingError> {
        read::<LwipConfig>(table.clone())?.check()
    }

    fn check_host(&self, host: &HostSettings<'_>) -> Result<Vec<String>, SettingError> {
        if !(LEAST_MTU..=u32::from(u16::MAX)).contains(&host.mtu) {
            let text = format!("lwIP takes {LEAST_MTU} to {} bytes; give it another MTU", u16::MAX);
            return Err(SettingError::new(host.key("mtu"), text));
        }
        let (settings, mut unsupported) = settings_of(host);
        let of_table =
            |error: SettingError| SettingError::new(host.key(&format!("lwip.{}", error.key)), error.message);
        settings.check().map_err(of_table)?;
        unsupported.extend(host.alternate_address.map(|_| "alternate".to_string()));
        Ok(unsupported)
    }

    fn check_sockets(&self, host: &HostSettings<'_>, wish: &SocketWish) -> Result<Vec<String>, SettingError> {
        let (settings, rest) = with_wish(&settings_of(host).0, wish);
        settings
            .check()
            .map_err(|error| SettingError::new(format!("socket.{}", error.key), error.message))?;
        Ok(rest)
    }

    #[cfg(lwip)]
    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        Ok(Box::new(running::Run::start(run)?))
    }

    #[cfg(not(lwip))]
    fn start(&self, _run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        let what = option_env!("REXMIT_LWIP_MISSING").unwrap_or_default();
        Err(SettingError::new("", format!("stack lwip: {what}")))
    }
}

#[cfg(lwip)]
mod running {
    use super::{LwipConfig, settings_of, with_wish};
    use crate::end::LwipEnd;
    use crate::host::Host;
    use rexmit_stack::{EndSettings, HostSettings, RunSettings, SettingError, StackEnd, StackRun};

    pub(super) struct Run {
        hosts: Vec<(LwipConfig, Host)>,
    }

    impl Run {
        pub fn start(run: &RunSettings<'_>) -> Result<Self, SettingError> {
            let host = |host: &HostSettings<'_>| {
                let settings = settings_of(host).0;
                let mtu = u16::try_from(host.mtu).unwrap_or(u16::MAX);
                let refused = |error| {
                    SettingError::new("", format!("stack lwip: no memory in which its code may run: {error}"))
                };
                let host = Host::new(&settings, mtu).map_err(refused)?;
                Ok((settings, host))
            };
            Ok(Self { hosts: run.hosts.iter().map(host).collect::<Result<_, _>>()? })
        }
    }

    impl StackRun for Run {
        fn endpoint(&mut self, host: usize, end: &EndSettings) -> Result<Box<dyn StackEnd>, SettingError> {
            let (settings, host) = &self.hosts[host];
            let wished = end.wish.as_ref().map(|wish| with_wish(settings, wish).0);
            Ok(Box::new(LwipEnd::new(host, wished.as_ref().unwrap_or(settings), end)))
        }
    }
}

/// The settings of a socket that is asked for this, and the keys of the transfer that lwIP has nothing for. It has one
/// congestion control, Reno.
fn with_wish(settings: &LwipConfig, wish: &SocketWish) -> (LwipConfig, Vec<String>) {
    let mut changed = settings.clone();
    let mut rest = wish.clone();
    rest.congestion.take_if(|name| name == "reno");
    let SocketSpec { nagle, send_buffer, receive_buffer, tos, .. } = &mut rest.socket;
    changed.nagle = nagle.take().unwrap_or(changed.nagle);
    changed.send_buffer = send_buffer.take().unwrap_or(changed.send_buffer);
    changed.receive_buffer = receive_buffer.take().unwrap_or(changed.receive_buffer);
    changed.tos = tos.take().unwrap_or(changed.tos);
    (changed, rest.keys().collect())
}

fn settings_of(host: &HostSettings<'_>) -> (LwipConfig, Vec<String>) {
    settings_at(host, translate)
}

/// Sets what a value of a profile is in lwIP; `None` where it has no such setting.
fn translate(key: &str, value: &Value, settings: &mut LwipConfig) -> Option<()> {
    let bytes = || value.as_str()?.parse::<Bytes>().ok();
    let has = |is_so: bool| is_so.then_some(());
    match key {
        "protocol" => has(value == "tcp")?,
        "congestion.algorithm" => has(value == "reno")?,
        "options.timestamps" | "options.sack" => has(value == false)?,
        "buffers.send" => settings.send_buffer = bytes()?,
        "buffers.receive" => settings.receive_buffer = bytes()?,
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn host<'a>(stack: &'a Value, table: Option<&'a Value>) -> HostSettings<'a> {
        HostSettings {
            name: "server",
            stack,
            settings: table,
            table: &(),
            profile: &(),
            protocol: "tcp",
            mtu: 1500,
            address: [10, 0, 2, 1].into(),
            peer: Some([10, 0, 1, 1].into()),
            alternate_address: None,
            qlog: false,
        }
    }

    #[test]
    fn single_values_of_a_profile_are_settings_of_the_library() {
        let stack = json!({ "inherits": "rfc", "buffers": { "send": "20 kB", "receive": "30 kB" },
                            "options": { "sack": false }, "congestion": { "algorithm": "cubic" } });
        let table = json!({ "receive_buffer": "40 kB", "nagle": false });
        let (settings, unsupported) = settings_of(&host(&stack, Some(&table)));
        assert_eq!((settings.send_buffer, settings.nagle), (Bytes(20_000), false));
        assert_eq!(settings.receive_buffer, Bytes(40_000), "its own table counts first");
        assert_eq!(unsupported, ["hosts.server.stack.congestion.algorithm"]);
    }

    #[test]
    fn what_the_library_was_not_built_for_is_refused() {
        let told = |table: Value| LwipStack.check_settings(&table).unwrap_err().to_string();
        assert_eq!(told(json!({ "mss": 8_960 })), "mss: allowed: 88 to 1460");
        assert_eq!(
            told(json!({ "receive_buffer": "1 MB" })),
            "receive_buffer: allowed: 1460 (its mss) to 65535 bytes"
        );
        assert_eq!(told(json!({ "send_buffer": "1 MB" })), "send_buffer: allowed: 1 to 262800 bytes");
        let stack = json!("rfc");
        let too_large = HostSettings { mtu: 70_000, ..host(&stack, None) };
        assert_eq!(LwipStack.check_host(&too_large).unwrap_err().key, "hosts.server.mtu");
    }

    #[test]
    fn a_socket_has_what_lwip_has_and_the_rest_is_told() {
        let stack = json!("rfc");
        let socket =
            SocketSpec { nagle: Some(false), syn_retries: Some(3), tos: Some(8), ..Default::default() };
        let wish = SocketWish { congestion: Some("reno".into()), socket };
        assert_eq!(LwipStack.check_sockets(&host(&stack, None), &wish).unwrap(), ["socket.syn_retries"]);
        let other = SocketWish { congestion: Some("cubic".into()), ..SocketWish::default() };
        assert_eq!(LwipStack.check_sockets(&host(&stack, None), &other).unwrap(), ["congestion"]);
    }
}
