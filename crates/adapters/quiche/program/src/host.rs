//! What the ends of a run share.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::io::Write;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use quiche::Config;
use rexmitstack::{Line, Opening, Random, Run, Stack};
use serde::Deserialize;

use crate::end::QuicheEnd;
use crate::led;

/// The application protocol that connections carry (RFC 9001 section 8.1).
const APPLICATION: &[u8] = b"rexmit";
/// Ed25519 (RFC 8446 section 4.2.3), which BoringSSL does not offer by itself.
const SIGNATURES: [u16; 3] = [0x0807, 0x0403, 0x0804];

/// Datagrams that wait to leave, or for the application, as the server that comes with quiche has it; quiche has no default.
const DATAGRAMS: usize = 1_000;

/// What `crates/adapters/quiche` tells: sizes in bytes, times in nanoseconds, DER in base 64.
#[derive(Clone, Debug, Deserialize)]
pub struct Settings {
    certificate: String,
    key: String,
    congestion: String,
    initial_window: usize,
    hystart: bool,
    pacing: bool,
    initial_rtt: u64,
    packet_size: usize,
    pmtud: bool,
    stream_window: u64,
    stream_window_max: u64,
    receive_window: u64,
    receive_window_max: u64,
    idle_timeout: u64,
    /// A client that knows the server sends data at once.
    pub zero_rtt: bool,
}

/// The host in one run.
pub struct Host {
    /// What it is told.
    pub settings: Settings,
    /// Numbers of the run.
    pub random: Random,
    /// The instant at which the run begins.
    pub begin: Instant,
    mtu: usize,
    /// Connections are logged.
    pub qlog: bool,
    /// One configuration for all: servers know the tickets of one another.
    config: Config,
    limits: (usize, u64, bool),
    /// What is remembered of servers.
    pub sessions: HashMap<IpAddr, Vec<u8>>,
}

/// [`Host`] as the far side sees it.
pub struct Shared(Rc<RefCell<Host>>);

impl Stack for Shared {
    type End = QuicheEnd;
    const DATAGRAMS: bool = true;

    fn begin(mut run: Run) -> Result<Self, String> {
        led::set_now(0);
        led::set_random(&mut run.random);
        let settings: Settings =
            serde_json::from_value(run.settings["settings"].clone()).map_err(|error| error.to_string())?;
        let config =
            config(&settings, run.mtu).map_err(|error| format!("quiche refuses the settings: {error}"))?;
        Ok(Self(Rc::new(RefCell::new(Host {
            settings,
            random: run.random,
            begin: Instant::now(),
            mtu: run.mtu,
            qlog: run.qlog,
            config,
            limits: (0, 0, false),
            sessions: HashMap::new(),
        }))))
    }

    fn open(&mut self, now: u64, opening: Opening, _: &mut Line) -> QuicheEnd {
        led::set_now(now);
        QuicheEnd::new(self.0.clone(), opening)
    }
}

impl Host {
    /// The longest payload of a datagram.
    pub fn room(&self, opening: &Opening) -> usize {
        self.mtu - if opening.local.is_ipv4() { 28 } else { 48 }
    }

    /// The configuration for an end.
    pub fn config(&mut self, opening: &Opening) -> &mut Config {
        let largest = if self.settings.pmtud { self.room(opening) } else { self.settings.packet_size };
        let streams = u64::from(opening.streams).max(100);
        let limits = (largest.min(self.room(opening)), streams, opening.datagrams);
        if self.limits != limits {
            self.limits = limits;
            self.config.set_max_send_udp_payload_size(limits.0);
            self.config.set_initial_max_streams_uni(limits.1);
            self.config.enable_dgram(limits.2, DATAGRAMS, DATAGRAMS);
        }
        &mut self.config
    }
}

/// quiche's own configuration, with what the scenario sets.
fn config(settings: &Settings, mtu: usize) -> quiche::Result<Config> {
    let mut config = Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_application_protos(&[APPLICATION])?;
    config.load_cert_chain_from_pem_file(&pem("CERTIFICATE", &settings.certificate)?.path)?;
    config.load_priv_key_from_pem_file(&pem("PRIVATE KEY", &settings.key)?.path)?;
    // The end looks at the certificate: there is but one.
    config.verify_peer(false);
    config.log_keys();
    config.enable_early_data();
    config.set_cc_algorithm_name(&settings.congestion)?;
    config.set_initial_congestion_window_packets(settings.initial_window);
    config.enable_hystart(settings.hystart);
    config.enable_pacing(settings.pacing);
    config.set_initial_rtt(Duration::from_nanos(settings.initial_rtt));
    config.discover_pmtu(settings.pmtud);
    config.set_max_recv_udp_payload_size(mtu);
    config.set_initial_max_data(settings.receive_window);
    config.set_initial_max_stream_data_uni(settings.stream_window);
    config.set_max_connection_window(settings.receive_window_max);
    config.set_max_stream_window(settings.stream_window_max);
    config.set_max_idle_timeout(settings.idle_timeout / 1_000_000);
    config.set_disable_active_migration(true);
    Ok(config)
}

/// Whether this is the laboratory's certificate.
pub fn is_known(settings: &Settings, shown: Option<&[u8]>) -> bool {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = shown.unwrap_or_default().chunks(3).flat_map(|group| {
        let bits = (0..3).fold(0, |bits, n| bits << 8 | usize::from(group.get(n).copied().unwrap_or(0)));
        let digit = move |n: usize| if n > group.len() { b'=' } else { DIGITS[bits >> (18 - 6 * n) & 63] };
        (0..4).map(digit)
    });
    groups.eq(settings.certificate.bytes())
}

/// A file in memory, which quiche reads by its path.
struct InMemory {
    path: String,
    _file: std::fs::File,
}

fn pem(what: &str, base64: &str) -> quiche::Result<InMemory> {
    // SAFETY: the name ends with a zero, and the descriptor is ours alone.
    let mut file =
        unsafe { std::fs::File::from(OwnedFd::from_raw_fd(libc::memfd_create(c"pem".as_ptr(), 0))) };
    let lines = base64.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line) + "\n");
    let text = format!("-----BEGIN {what}-----\n{}-----END {what}-----\n", lines.collect::<String>());
    file.write_all(text.as_bytes()).map_err(|_| quiche::Error::TlsFail)?;
    Ok(InMemory { path: format!("/proc/self/fd/{}", file.as_raw_fd()), _file: file })
}

unsafe extern "C" {
    fn __real_SSL_CTX_new(method: *const c_void) -> *mut c_void;
    fn SSL_CTX_set_verify_algorithm_prefs(context: *mut c_void, prefs: *const u16, count: usize) -> c_int;
}

/// Makes a context as BoringSSL does, in quiche's name, that offers the signature of the laboratory's certificate.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_SSL_CTX_new(method: *const c_void) -> *mut c_void {
    // SAFETY: as the caller has asked; the context is a new one.
    unsafe {
        let context = __real_SSL_CTX_new(method);
        if !context.is_null() {
            SSL_CTX_set_verify_algorithm_prefs(context, SIGNATURES.as_ptr(), SIGNATURES.len());
        }
        context
    }
}

/// Leaves the certificates of the system unread, which nobody asks for here: they take longer than a short run.
#[unsafe(no_mangle)]
extern "C" fn __wrap_SSL_CTX_set_default_verify_paths(_context: *mut c_void) -> c_int {
    1
}
