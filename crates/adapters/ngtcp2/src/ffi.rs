//! The functions of `glue.c` as they are declared there.

use std::ffi::{c_char, c_int, c_void};
use std::net::{IpAddr, SocketAddr};

/// What the library answers, as far as it counts here (`ngtcp2.h`).
pub(crate) mod answer {
    pub const STREAM_DATA_BLOCKED: isize = -210;
    pub const STREAM_SHUT: isize = -221;
    pub const STREAM_NOT_FOUND: isize = -222;
    pub const CLOSING: i32 = -230;
    pub const DRAINING: i32 = -231;
    pub const WRITE_MORE: isize = -240;
    pub const RETRY: i32 = -241;
    pub const DROP_CONNECTION: i32 = -242;
    pub const HANDSHAKE_TIMEOUT: i32 = -246;
    pub const IDLE_CLOSE: i32 = -248;
    /// An assertion has failed (`glue.c`).
    pub const GAVE_UP: i32 = -1000;
}

/// Levels of encryption (`ngtcp2_crypto_level`).
pub(crate) mod level {
    pub const INITIAL: i32 = 0;
    pub const HANDSHAKE: i32 = 1;
    pub const APPLICATION: i32 = 2;
    pub const EARLY: i32 = 3;
}

/// A connection of the library's.
#[repr(C)]
pub(crate) struct RawConnection {
    opaque: [u8; 0],
}

/// Settings of a connection; times in nanoseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub server: c_int,
    pub congestion: c_int,
    pub now: u64,
    pub initial_rtt: u64,
    pub handshake_timeout: u64,
    pub idle_timeout: u64,
    pub keep_alive: u64,
    pub max_ack_delay: u64,
    pub ack_threshold: u64,
    pub receive_window: u64,
    pub most_receive_window: u64,
    pub stream_window: u64,
    pub most_stream_window: u64,
    pub streams: u64,
    pub payload: u64,
    pub mtu_discovery: c_int,
    pub datagrams: c_int,
    pub qlog: c_int,
}

#[repr(C)]
pub(crate) struct Place {
    address: [u8; 16],
    is_v6: u8,
    port: u16,
}

impl From<SocketAddr> for Place {
    fn from(at: SocketAddr) -> Self {
        let mut address = [0; 16];
        match at.ip() {
            IpAddr::V4(ip) => address[..4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => address = ip.octets(),
        }
        Self { address, is_v6: at.is_ipv6().into(), port: at.port() }
    }
}

/// A piece of data (`ngtcp2_vec`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub base: *const u8,
    pub len: usize,
}

/// A connection's state; times in nanoseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    pub cwnd: u64,
    pub ssthresh: u64,
    pub in_flight: u64,
    pub window: u64,
    pub rtt: u64,
    pub rttvar: u64,
    pub has_rtt: u64,
    pub pto: u64,
    pub pto_count: u64,
    pub due: u64,
}

unsafe extern "C" {
    pub fn rexmit_ngtcp2_said() -> *const c_char;
    pub fn rexmit_ngtcp2_new(
        settings: *const Settings,
        local: *const Place,
        remote: *const Place,
        packet: *const u8,
        len: usize,
    ) -> *mut RawConnection;
    pub fn rexmit_ngtcp2_drop(connection: *mut RawConnection);
    pub fn rexmit_ngtcp2_own_params(connection: *mut RawConnection, dest: *mut u8, len: usize) -> isize;
    pub fn rexmit_ngtcp2_peer_params(connection: *mut RawConnection, data: *const u8, len: usize) -> c_int;
    pub fn rexmit_ngtcp2_early_params(connection: *mut RawConnection, data: *const u8, len: usize) -> c_int;
    pub fn rexmit_ngtcp2_initial_keys(
        connection: *mut RawConnection,
        opens: *mut c_void,
        opens_head: *mut c_void,
        seals: *mut c_void,
        seals_head: *mut c_void,
    ) -> c_int;
    pub fn rexmit_ngtcp2_keys(
        connection: *mut RawConnection,
        level: c_int,
        seals: c_int,
        packet: *mut c_void,
        head: *mut c_void,
    ) -> c_int;
    pub fn rexmit_ngtcp2_submit(
        connection: *mut RawConnection,
        level: c_int,
        data: *const u8,
        len: usize,
    ) -> c_int;
    pub fn rexmit_ngtcp2_complete(connection: *mut RawConnection);
    pub fn rexmit_ngtcp2_reject(connection: *mut RawConnection) -> c_int;
    pub fn rexmit_ngtcp2_read(
        connection: *mut RawConnection,
        packet: *const u8,
        len: usize,
        ecn: u8,
        now: u64,
    ) -> c_int;
    #[allow(clippy::too_many_arguments, reason = "the library's own call has as many")]
    pub fn rexmit_ngtcp2_write(
        connection: *mut RawConnection,
        dest: *mut u8,
        dest_len: usize,
        stream: i64,
        data: *const Piece,
        count: usize,
        fin: c_int,
        taken: *mut isize,
        ecn: *mut u8,
        now: u64,
    ) -> isize;
    #[allow(clippy::too_many_arguments, reason = "the library's own call has as many")]
    pub fn rexmit_ngtcp2_write_datagram(
        connection: *mut RawConnection,
        dest: *mut u8,
        dest_len: usize,
        data: *const Piece,
        taken: *mut c_int,
        ecn: *mut u8,
        now: u64,
    ) -> isize;
    pub fn rexmit_ngtcp2_most_datagram(connection: *mut RawConnection) -> usize;
    pub fn rexmit_ngtcp2_sent(connection: *mut RawConnection, now: u64);
    pub fn rexmit_ngtcp2_burst(connection: *mut RawConnection) -> usize;
    pub fn rexmit_ngtcp2_window(connection: *mut RawConnection) -> u64;
    pub fn rexmit_ngtcp2_due(connection: *mut RawConnection) -> u64;
    pub fn rexmit_ngtcp2_expire(connection: *mut RawConnection, now: u64) -> c_int;
    #[allow(clippy::too_many_arguments, reason = "the library's own call has as many")]
    pub fn rexmit_ngtcp2_close(
        connection: *mut RawConnection,
        dest: *mut u8,
        len: usize,
        why: c_int,
        code: u64,
        now: u64,
    ) -> isize;
    pub fn rexmit_ngtcp2_peer_closed(connection: *mut RawConnection) -> c_int;
    pub fn rexmit_ngtcp2_open_stream(connection: *mut RawConnection, stream: *mut i64) -> c_int;
    pub fn rexmit_ngtcp2_consumed(
        connection: *mut RawConnection,
        stream: i64,
        len: u64,
        over: c_int,
    ) -> c_int;
    pub fn rexmit_ngtcp2_look(connection: *mut RawConnection, look: *mut Look);
}
