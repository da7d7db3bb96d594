//! Keys that show each packet to whoever follows the connection, and are those of rustls otherwise.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig,
    Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use rexmit_stack::SettingError;
use rexmit_stack::quic::Space;

fn failed(error: impl std::fmt::Display) -> SettingError {
    SettingError::new("", format!("quinn's TLS: {error}"))
}

/// TLS of a client.
pub(crate) fn client(zero_rtt: bool) -> Result<Arc<dyn ClientConfig>, SettingError> {
    let config = rexmit_tls::client_config(zero_rtt).map_err(failed)?;
    let config = QuicClientConfig::try_from(config).map_err(failed)?;
    Ok(Arc::new(WatchedClient(Arc::new(config))))
}

/// TLS of a server.
pub(crate) fn server() -> Result<Arc<dyn ServerConfig>, SettingError> {
    let config = rexmit_tls::server_config().map_err(failed)?;
    let config = QuicServerConfig::try_from(config).map_err(failed)?;
    Ok(Arc::new(WatchedServer(Arc::new(config))))
}

/// TLS of a client, watched.
struct WatchedClient(Arc<QuicClientConfig>);

/// TLS of a server, watched.
struct WatchedServer(Arc<QuicServerConfig>);

impl ClientConfig for WatchedClient {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        self.0.clone().start_session(version, server_name, params).map(watched)
    }
}

impl ServerConfig for WatchedServer {
    fn initial_keys(&self, version: u32, dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.0.initial_keys(version, dst_cid).map(|keys| keys_of(Space::Initial, keys))
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.0.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(self: Arc<Self>, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        watched(self.0.clone().start_session(version, params))
    }
}

fn watched(inner: Box<dyn Session>) -> Box<dyn Session> {
    Box::new(Watched { inner, next: Space::Handshake })
}

struct Watched {
    inner: Box<dyn Session>,
    /// The space of the keys that the handshake gives next.
    next: Space,
}

impl Session for Watched {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        keys_of(Space::Initial, self.inner.initial_keys(dst_cid, side))
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto().map(|(header, packet)| (header, key_of(Space::Data, packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.inner.write_handshake(buf)?;
        let space = std::mem::replace(&mut self.next, Space::Data);
        Some(keys_of(space, keys))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys().map(|keys| pair_of(Space::Data, keys))
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

fn keys_of(space: Space, keys: Keys) -> Keys {
    Keys { header: keys.header, packet: pair_of(space, keys.packet) }
}

fn pair_of(space: Space, keys: KeyPair<Box<dyn PacketKey>>) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: key_of(space, keys.local), remote: key_of(space, keys.remote) }
}

fn key_of(space: Space, inner: Box<dyn PacketKey>) -> Box<dyn PacketKey> {
    Box::new(WatchedKey { inner, space })
}

struct WatchedKey {
    inner: Box<dyn PacketKey>,
    space: Space,
}

impl PacketKey for WatchedKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let end = buf.len().saturating_sub(self.inner.tag_len());
        if let Some(plaintext) = buf.get(header_len..end) {
            rexmit_tls::seals(self.space, packet, plaintext);
        }
        self.inner.encrypt(packet, buf, header_len);
    }

    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        self.inner.decrypt(packet, header, payload)?;
        rexmit_tls::opens(self.space, payload);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}
