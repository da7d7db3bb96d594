//! Two ends of the library and a path in virtual time.

#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

#[path = "../../../../stack/test-support/message_pair.rs"]
mod message_pair;

use std::sync::Arc;

use rexmit_network::ByHost;
use rexmit_network::two_hosts::{ORDER_OF_ENDS, server_and_client};
use rexmit_units::Duration;
use rexmit_usrsctp::{Association, AssociationConfig, Role, Usrsctp, UsrsctpConfig};

pub use message_pair::Sent;
pub use rexmit_network::two_hosts::{CLIENT, SERVER};

/// Client and server with a delay between them.
pub type Pair = message_pair::Pair<Association, Usrsctp>;

pub fn config(role: Role, settings: &UsrsctpConfig) -> AssociationConfig {
    let (client, server) = ("10.0.0.2:40000".parse().unwrap(), "10.0.0.1:5001".parse().unwrap());
    let active = role == Role::Active;
    AssociationConfig {
        settings: Arc::new(settings.clone()),
        local: if active { client } else { server },
        remote: if active { server } else { client },
        mtu: 1500,
        role,
        seed: if active { 1 } else { 2 },
    }
}

/// What both ends are made from.
pub fn configs(settings: &UsrsctpConfig) -> ByHost<AssociationConfig> {
    server_and_client(config(Role::Passive, settings), config(Role::Active, settings))
}

impl Pair {
    pub fn new(settings: &UsrsctpConfig) -> Self {
        Self::with(Duration::ZERO, &configs(settings))
    }

    pub fn with(phase: Duration, configs: &ByHost<AssociationConfig>) -> Self {
        let library = Usrsctp::start(phase).expect("the library is there");
        let [client, server] =
            ORDER_OF_ENDS.map(|host| library.association(configs[host].clone()).expect("good settings"));
        Self::of(server_and_client(server, client), library)
    }
}
