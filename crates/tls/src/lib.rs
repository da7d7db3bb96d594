//! The TLS of QUIC stacks in virtual time: rustls, whose random numbers and time are those of the end at work.
//!
//! An adapter has an [`AtWork`] for each end and lets its code act inside [`with`]. Then rustls, and the adapter's own
//! callbacks, find there what they ask for: [`fill`] gives random bytes, [`unix_time`] the time, and [`seals`] and [`opens`] show
//! each packet to the end's [`QuicPackets`].
//!
//! The server of [`server_config`] shows one certificate of 316 bytes with an Ed25519 key, which the client of
//! [`client_config`] knows, so that stacks of different makers shake hands.

use std::cell::RefCell;
use std::sync::Arc;

use rexmit_stack::quic::{QuicPackets, Space};
use rexmit_stack::{RandomStream, RngCore};
use rexmit_units::Instant;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup,
    WebPkiSupportedAlgorithms, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, NamedGroup, PeerMisbehaved, ServerConfig, SignatureScheme,
};
use x25519_dalek::{PublicKey, StaticSecret};

/// The name of every server.
pub const SERVER: &str = "server";

/// The application protocol that connections carry, since QUIC must name one (RFC 9001 section 8.1).
pub const APPLICATION: &str = "rexmit";

/// The certificate that every server shows, of the key [`KEY`].
pub const CERTIFICATE: &[u8] = include_bytes!("certificate.der");
/// The Ed25519 key of every server: a laboratory's, which everybody may know (RFC 8410 section 7).
pub const KEY: &[u8; 48] =
    b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20rexmit: everybody knows this key";
/// The date on which runs begin: the first of January 2026.
const BEGIN: u64 = 1_767_225_600;

thread_local! {
    static AT_WORK: RefCell<Option<AtWork>> = const { RefCell::new(None) };
}

/// What TLS asks for while an end is at work.
#[derive(Debug)]
pub struct AtWork {
    /// Where its random numbers come from.
    pub random: RandomStream,
    /// Lines of secrets in the format of NSS.
    pub secrets: String,
    /// The time, which [`with`] sets.
    pub now: Instant,
    /// What the end's packets show.
    pub packets: QuicPackets,
    /// A packet has acknowledged something new.
    pub acknowledged: bool,
}

impl AtWork {
    /// That of an end that has done nothing yet.
    pub fn new(random: RandomStream) -> Self {
        let (now, packets) = (Instant::ZERO, QuicPackets::default());
        Self { random, secrets: String::new(), now, packets, acknowledged: false }
    }

    /// The secrets that are new since the last call.
    pub fn take_secrets(&mut self) -> Option<String> {
        (!self.secrets.is_empty()).then(|| std::mem::take(&mut self.secrets))
    }
}

/// Does something in which TLS has this at hand.
pub fn with<T>(own: &mut Option<AtWork>, now: Instant, act: impl FnOnce() -> T) -> T {
    if let Some(own) = own.as_mut() {
        own.now = now;
    }
    AT_WORK.with_borrow_mut(|at_work| std::mem::swap(at_work, own));
    let result = act();
    AT_WORK.with_borrow_mut(|at_work| std::mem::swap(at_work, own));
    result
}

/// Random bytes of the end at work.
///
/// # Errors
/// No end is at work.
pub fn fill(bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
    AT_WORK.with_borrow_mut(|at_work| {
        at_work.as_mut().map(|own| own.random.fill_bytes(bytes)).ok_or(GetRandomFailed)
    })
}

/// The end at work is about to seal a packet.
pub fn seals(space: Space, number: u64, plaintext: &[u8]) {
    AT_WORK.with_borrow_mut(|at_work| {
        if let Some(own) = at_work.as_mut() {
            own.packets.seals(space, number, plaintext);
        }
    });
}

/// The end at work has opened a packet.
pub fn opens(space: Space, plaintext: &[u8]) {
    AT_WORK.with_borrow_mut(|at_work| {
        if let Some(own) = at_work.as_mut() {
            own.acknowledged |= own.packets.opens(space, plaintext);
        }
    });
}

/// The time of the end at work, as the world counts it.
pub fn unix_time() -> u64 {
    let now = AT_WORK.with_borrow(|at_work| at_work.as_ref().map_or(0, |own| own.now.as_nanos()));
    BEGIN + now / 1_000_000_000
}

#[derive(Debug)]
struct Random;

impl SecureRandom for Random {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        fill(buf)
    }
}

/// X25519 (RFC 7748) with keys of the run's.
#[derive(Debug)]
struct X25519;

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut own = [0; 32];
        fill(&mut own)?;
        let own = StaticSecret::from(own);
        let public = PublicKey::from(&own);
        Ok(Box::new(Exchange { own, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct Exchange {
    own: StaticSecret,
    public: PublicKey,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer: [u8; 32] = peer.try_into().map_err(|_| PeerMisbehaved::InvalidKeyShare)?;
        Ok(SharedSecret::from(&self.own.diffie_hellman(&PublicKey::from(peer)).as_bytes()[..]))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_bytes()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

#[derive(Debug)]
struct Time;

impl TimeProvider for Time {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(unix_time())))
    }
}

/// Keeps secrets for the captures.
#[derive(Debug)]
struct Secrets;

impl rustls::KeyLog for Secrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        use std::fmt::Write;
        AT_WORK.with_borrow_mut(|at_work| {
            let Some(own) = at_work.as_mut() else { return };
            let text = &mut own.secrets;
            text.push_str(label);
            for bytes in [client_random, secret] {
                text.push(' ');
                bytes.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap_or_default());
            }
            text.push('\n');
        });
    }
}

/// Accepts the one certificate there is; the signature of the handshake is checked as ever.
#[derive(Debug)]
struct TheCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for TheCertificate {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if **certificate == *CERTIFICATE {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::General("not the laboratory's certificate".into()))
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has TLS 1.3".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

fn provider() -> Arc<CryptoProvider> {
    let ring = rustls::crypto::ring::default_provider();
    Arc::new(CryptoProvider { secure_random: &Random, kx_groups: vec![&X25519], ..ring })
}

/// TLS of a client.
///
/// # Errors
/// rustls refuses the settings.
pub fn client_config(zero_rtt: bool) -> Result<ClientConfig, Error> {
    let provider = provider();
    let verifier = TheCertificate(provider.signature_verification_algorithms);
    let mut config = ClientConfig::builder_with_details(provider, Arc::new(Time))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.enable_early_data = zero_rtt;
    config.alpn_protocols = vec![APPLICATION.into()];
    config.key_log = Arc::new(Secrets);
    Ok(config)
}

/// TLS of a server.
///
/// # Errors
/// rustls refuses the settings.
pub fn server_config() -> Result<ServerConfig, Error> {
    let key = PrivatePkcs8KeyDer::from(&KEY[..]).into();
    let mut config = ServerConfig::builder_with_details(provider(), Arc::new(Time))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)?;
    config.max_early_data_size = u32::MAX;
    config.alpn_protocols = vec![APPLICATION.into()];
    config.key_log = Arc::new(Secrets);
    Ok(config)
}
