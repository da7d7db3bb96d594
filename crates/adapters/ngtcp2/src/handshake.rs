//! TLS of a connection: rustls in place of the libraries of C that ngtcp2 comes with, so that it is seeded like quinn's.
//!
//! The order of steps is that of ngtcp2's own helpers (`crypto/shared.c`): a server reads the client's transport parameters
//! before its keys for the handshake, a client the server's before its keys for data.

use std::sync::Arc;

use rexmit_stack::quic::Space;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::ServerName;
use rustls::quic::{
    ClientConnection, Connection as Tls, DirectionalKeys, KeyChange, Keys, Secrets, ServerConnection, Version,
};
use rustls::{AlertDescription, ClientConfig, ServerConfig, Side};

use crate::connection::{Failed, Inner};
use crate::ffi::level;
use crate::hooks;

/// Who shakes hands, and with what settings.
#[derive(Clone, Debug)]
pub(crate) enum Party {
    Client(Arc<ClientConfig>),
    Server(Arc<ServerConfig>),
}

/// Why a handshake does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// TLS's alert.
    Alert(u8),
    /// ngtcp2 has refused something.
    Refused,
}

impl From<Failed> for Broken {
    fn from(_: Failed) -> Self {
        Self::Refused
    }
}

/// A handshake, and the keys that follow it.
pub(crate) struct Handshake {
    party: Party,
    tls: Option<Tls>,
    /// The level of what TLS says next.
    level: i32,
    /// The keys by which a server opens data, until it may: when the client has finished (RFC 9001 section 5.7).
    waits: Option<DirectionalKeys>,
    next: Option<Secrets>,
    is_early: bool,
    is_complete: bool,
}

impl Handshake {
    /// One that has not begun.
    pub fn new(party: Party) -> Self {
        let (tls, waits, next) = (None, None, None);
        Self { party, tls, level: level::INITIAL, waits, next, is_early: false, is_complete: false }
    }

    /// Makes a client's TLS; true if it may send data at once, as its last session with the server lets it.
    pub fn prepare(&mut self, connection: Inner) -> Result<bool, Broken> {
        let Party::Client(config) = &self.party else { return Err(Broken::Refused) };
        let name = ServerName::try_from(rexmit_tls::SERVER).map_err(|_| Broken::Refused)?;
        let tls = ClientConnection::new(config.clone(), Version::V1, name, connection.own_params())
            .map_err(|_| Broken::Refused)?;
        if let (true, Some(params)) = (tls.zero_rtt_keys().is_some(), tls.quic_transport_parameters()) {
            self.is_early = connection.early_params(params).is_ok();
        }
        self.tls = Some(Tls::Client(tls));
        Ok(self.is_early)
    }

    /// The library asks for the first message, or has got the other side's first packet with this connection ID.
    pub fn begin(&mut self, connection: Inner, id: &[u8]) -> Result<(), Broken> {
        let side = match self.party {
            Party::Client(_) => Side::Client,
            Party::Server(_) => Side::Server,
        };
        let keys = initial_keys(id, side).ok_or(Broken::Refused)?;
        let seals = handle(keys.local, Space::Initial);
        connection.initial_keys(handle(keys.remote, Space::Initial), seals)?;
        if side == Side::Client {
            self.go_on(connection)?;
            let early = self.tls.as_ref().and_then(|tls| tls.zero_rtt_keys());
            if let Some(keys) = early.filter(|_| self.is_early) {
                connection.keys(level::EARLY, true, handle(keys, Space::Data))?;
            }
        }
        Ok(())
    }

    /// The other side's TLS has said this.
    pub fn reads(&mut self, connection: Inner, data: &[u8]) -> Result<(), Broken> {
        if let (None, Party::Server(config)) = (&self.tls, &self.party) {
            let tls = ServerConnection::new(config.clone(), Version::V1, connection.own_params());
            self.tls = Some(Tls::Server(tls.map_err(|_| Broken::Refused)?));
        }
        let tls = self.tls.as_mut().ok_or(Broken::Refused)?;
        if tls.read_hs(data).is_err() {
            let alert = tls.alert().unwrap_or(AlertDescription::HandshakeFailure);
            return Err(Broken::Alert(alert.into()));
        }
        if let (Tls::Server(server), level::INITIAL, false) = (&tls, self.level, self.is_early)
            && let Some(keys) = server.zero_rtt_keys()
        {
            self.is_early = true;
            connection.keys(level::EARLY, false, handle(keys, Space::Data))?;
        }
        self.go_on(connection)
    }

    /// Takes what TLS has to say, and its keys.
    fn go_on(&mut self, connection: Inner) -> Result<(), Broken> {
        let is_server = matches!(self.party, Party::Server(_));
        loop {
            let tls = self.tls.as_mut().ok_or(Broken::Refused)?;
            let mut says = Vec::new();
            let change = tls.write_hs(&mut says);
            connection.submit(self.level, &says)?;
            let keys = match change {
                None if says.is_empty() => break,
                None => continue,
                Some(KeyChange::Handshake { keys }) => {
                    self.level = level::HANDSHAKE;
                    keys
                }
                Some(KeyChange::OneRtt { keys, next }) => {
                    (self.level, self.next) = (level::APPLICATION, Some(next));
                    keys
                }
            };
            let handshakes = self.level == level::HANDSHAKE;
            if handshakes == is_server {
                connection.peer_params(tls.quic_transport_parameters().ok_or(Broken::Refused)?)?;
            }
            let space = if handshakes { Space::Handshake } else { Space::Data };
            if is_server && !handshakes {
                self.waits = Some(keys.remote);
            } else {
                connection.keys(self.level, false, handle(keys.remote, space))?;
            }
            connection.keys(self.level, true, handle(keys.local, space))?;
        }
        self.complete(connection)
    }

    fn complete(&mut self, connection: Inner) -> Result<(), Broken> {
        let Some(tls) = self.tls.as_ref().filter(|tls| !self.is_complete && !tls.is_handshaking()) else {
            return Ok(());
        };
        self.is_complete = true;
        if let Some(keys) = self.waits.take() {
            connection.keys(level::APPLICATION, false, handle(keys, Space::Data))?;
        }
        if let Tls::Client(client) = tls
            && self.is_early
            && !client.is_early_data_accepted()
        {
            connection.reject()?;
        }
        connection.complete();
        Ok(())
    }

    /// The next keys for data: one to open packets, one to seal them.
    pub fn next_keys(&mut self) -> Option<[hooks::Handle; 2]> {
        let keys = self.next.as_mut()?.next_packet_keys();
        Some([keys.remote, keys.local].map(|key| hooks::packet_key(key, Space::Data)))
    }
}

/// Keys of Initial packets (RFC 9001 section 5.2).
fn initial_keys(id: &[u8], side: Side) -> Option<Keys> {
    let suite = TLS13_AES_128_GCM_SHA256.tls13().and_then(|suite| suite.quic_suite())?;
    Some(suite.keys(id, side, Version::V1))
}

/// Gives a connection keys for its handshake, which it may be given once.
#[cfg(test)]
pub(crate) fn give_keys(connection: Inner) -> Result<(), Failed> {
    let keys = initial_keys(&[0; 8], Side::Client).unwrap();
    connection.keys(level::HANDSHAKE, true, handle(keys.local, Space::Handshake))
}

/// Keys as the library holds them.
fn handle(keys: DirectionalKeys, space: Space) -> [hooks::Handle; 2] {
    [hooks::packet_key(keys.packet, space), hooks::header_key(keys.header)]
}
