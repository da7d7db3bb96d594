//! The library's functions and structures that are used here, as `usrsctp.h` declares them. `layout.c` holds the sizes
//! and numbers against the header when the crate is built.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::{offset_of, size_of};

/// `AF_CONN`: addresses that are pointers.
pub const AF_CONN: c_int = 123;
/// `SOCK_STREAM`: one association a socket.
pub const SOCK_STREAM: c_int = 1;
/// `IPPROTO_SCTP`, and the level of its options.
pub const IPPROTO_SCTP: c_int = 132;
pub const SCTP_NODELAY: c_int = 0x04;
pub const SCTP_PEER_ADDR_PARAMS: c_int = 0x0a;
pub const SCTP_RECVRCVINFO: c_int = 0x1f;
pub const SCTP_STATUS: c_int = 0x100;
pub const SCTP_SENDV_SPA: c_uint = 4;
/// `SCTP_SEND_SNDINFO_VALID` and `SCTP_SEND_PRINFO_VALID`.
pub const SEND_INFO: u32 = 1;
pub const SEND_RELIABILITY: u32 = 2;
pub const SCTP_ABORT: u16 = 0x200;
pub const SCTP_UNORDERED: u16 = 0x400;
pub const PR_LIFETIME: u16 = 1;
pub const PR_RETRANSMITS: u16 = 3;
pub const SPP_HB_ENABLE: u32 = 1;
pub const SPP_HB_DISABLE: u32 = 2;
pub const SPP_PMTUD_DISABLE: u32 = 0x10;
pub const SHUT_WR: c_int = 1;
pub const EVENT_READ: c_int = 1;
pub const MSG_PEEK: c_int = 2;
/// Set by a read that ends a message.
pub const MSG_EOR: c_int = 0x80;
/// `SCTP_ESTABLISHED` and the states of a shutdown.
pub const ESTABLISHED: i32 = 0x08;
pub const SHUTDOWN_RECEIVED: i32 = 0x20;
pub const SHUTDOWN_ACK_SENT: i32 = 0x40;

/// `struct socket`, which is opaque.
#[repr(C)]
pub struct Socket {
    _opaque: [u8; 0],
}

/// `struct sockaddr_conn`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ConnAddress {
    pub family: u16,
    /// In network order.
    pub port: u16,
    pub address: usize,
}

/// `struct sctp_rcvinfo`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ReceiveInfo {
    pub stream: u16,
    pub ssn: u16,
    pub flags: u16,
    pub ppid: u32,
    pub tsn: u32,
    pub cumulative: u32,
    pub context: u32,
    pub association: u32,
}

/// `struct sctp_sndinfo`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct SendInfo {
    pub stream: u16,
    pub flags: u16,
    pub ppid: u32,
    pub context: u32,
    pub association: u32,
}

/// `struct sctp_prinfo`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Reliability {
    pub policy: u16,
    pub value: u32,
}

/// `struct sctp_sendv_spa`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct SendParameters {
    pub flags: u32,
    pub info: SendInfo,
    pub reliability: Reliability,
    pub key: u16,
}

/// `struct sockaddr_storage`.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct AnyAddress(pub [u8; 128]);

/// `struct sctp_paddrparams`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PathParameters {
    pub address: AnyAddress,
    pub association: u32,
    pub heartbeat_ms: u32,
    pub mtu: u32,
    pub flags: u32,
    pub flow_label: u32,
    pub max_retransmits: u16,
    pub dscp: u8,
}

/// `struct sctp_paddrinfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PathInfo {
    pub address: AnyAddress,
    pub association: u32,
    pub state: i32,
    pub cwnd: u32,
    pub srtt_ms: u32,
    pub rto_ms: u32,
    pub mtu: u32,
}

/// `struct sctp_status`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status {
    pub association: u32,
    pub state: i32,
    /// The peer's window.
    pub rwnd: u32,
    /// Chunks sent and not acknowledged.
    pub unacknowledged: u16,
    /// Chunks that wait for a read.
    pub pending: u16,
    pub streams_in: u16,
    pub streams_out: u16,
    pub fragmentation_point: u32,
    pub primary: PathInfo,
}

/// `struct sctpstat`, in its 32-bit words.
pub type Statistics = [u32; 166];
/// `sctps_sendfastretrans`: chunks sent again by a fast retransmit.
pub const FAST_RETRANSMITTED: usize = 44;
/// `sctps_timodata`: expiries of T3.
pub const DATA_TIMEOUTS: usize = 68;
/// `sctps_timoinit`: expiries of the timer of an INIT.
pub const INIT_TIMEOUTS: usize = 70;
/// `sctps_timoshutdown`.
pub const SHUTDOWN_TIMEOUTS: usize = 72;
/// `sctps_timocookie`.
pub const COOKIE_TIMEOUTS: usize = 74;
/// `sctps_timoshutdownack`.
pub const SHUTDOWN_ACK_TIMEOUTS: usize = 77;

const _: () = {
    assert!(size_of::<ConnAddress>() == 16);
    assert!(size_of::<ReceiveInfo>() == 28 && offset_of!(ReceiveInfo, ppid) == 8);
    assert!(size_of::<SendParameters>() == 32 && offset_of!(SendParameters, info) == 4);
    assert!(offset_of!(SendParameters, reliability) == 20);
    assert!(size_of::<PathParameters>() == 152 && offset_of!(PathParameters, heartbeat_ms) == 132);
    assert!(offset_of!(PathParameters, mtu) == 136 && offset_of!(PathParameters, flags) == 140);
    assert!(size_of::<Status>() == 176 && offset_of!(Status, state) == 4 && offset_of!(Status, rwnd) == 8);
    assert!(size_of::<PathInfo>() == 152 && offset_of!(Status, primary) == 24);
    assert!(offset_of!(PathInfo, cwnd) == 136 && offset_of!(PathInfo, srtt_ms) == 140);
    assert!(offset_of!(PathInfo, rto_ms) == 144 && size_of::<Statistics>() == 664);
    assert!(FAST_RETRANSMITTED * 4 == 176 && DATA_TIMEOUTS * 4 == 272 && INIT_TIMEOUTS * 4 == 280);
    assert!(SHUTDOWN_TIMEOUTS * 4 == 288 && COOKIE_TIMEOUTS * 4 == 296 && SHUTDOWN_ACK_TIMEOUTS * 4 == 308);
};

/// Takes a packet of the library: destination, bytes, their number, type of service, "do not fragment".
pub type Output = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, u8, u8) -> c_int;
/// What a timer calls.
pub type Expiry = unsafe extern "C" fn(*mut c_void);

unsafe extern "C" {
    pub fn usrsctp_init_nothreads(udp_port: u16, output: Output, debug: *const c_void);
    pub fn usrsctp_enable_crc32c_offload();
    pub fn usrsctp_register_address(address: *mut c_void);
    #[allow(clippy::too_many_arguments, reason = "the library's interface")]
    pub fn usrsctp_socket(
        domain: c_int,
        kind: c_int,
        protocol: c_int,
        receive: *const c_void,
        send: *const c_void,
        threshold: u32,
        context: *mut c_void,
    ) -> *mut Socket;
    pub fn usrsctp_set_non_blocking(socket: *mut Socket, on: c_int) -> c_int;
    pub fn usrsctp_setsockopt(
        socket: *mut Socket,
        level: c_int,
        name: c_int,
        value: *const c_void,
        len: u32,
    ) -> c_int;
    pub fn usrsctp_getsockopt(
        socket: *mut Socket,
        level: c_int,
        name: c_int,
        value: *mut c_void,
        len: *mut u32,
    ) -> c_int;
    pub fn usrsctp_bind(socket: *mut Socket, address: *const ConnAddress, len: u32) -> c_int;
    pub fn usrsctp_listen(socket: *mut Socket, backlog: c_int) -> c_int;
    pub fn usrsctp_accept(socket: *mut Socket, address: *mut c_void, len: *mut u32) -> *mut Socket;
    pub fn usrsctp_connect(socket: *mut Socket, address: *const ConnAddress, len: u32) -> c_int;
    pub fn usrsctp_shutdown(socket: *mut Socket, how: c_int) -> c_int;
    pub fn usrsctp_get_events(socket: *mut Socket) -> c_int;
    #[allow(clippy::too_many_arguments, reason = "the library's interface")]
    pub fn usrsctp_sendv(
        socket: *mut Socket,
        data: *const c_void,
        len: usize,
        to: *const c_void,
        addresses: c_int,
        info: *const c_void,
        info_len: u32,
        info_kind: c_uint,
        flags: c_int,
    ) -> isize;
    #[allow(clippy::too_many_arguments, reason = "the library's interface")]
    pub fn usrsctp_recvv(
        socket: *mut Socket,
        data: *mut c_void,
        len: usize,
        from: *mut c_void,
        from_len: *mut u32,
        info: *mut c_void,
        info_len: *mut u32,
        info_kind: *mut c_uint,
        flags: *mut c_int,
    ) -> isize;
    pub fn usrsctp_conninput(address: *mut c_void, packet: *const c_void, len: usize, ecn: u8);
    pub fn usrsctp_handle_timers(elapsed_ms: u32);
    pub fn usrsctp_get_stat(statistics: *mut Statistics);

    /// `sctp_os_timer_start` and `sctp_os_timer_stop` of the library itself.
    pub fn rexmit_usrsctp_their_timer_start(
        timer: *mut c_void,
        ticks: u32,
        expiry: Expiry,
        argument: *mut c_void,
    ) -> c_int;
    pub fn rexmit_usrsctp_their_timer_stop(timer: *mut c_void) -> c_int;
}

macro_rules! settings {
    ($($name:ident: $set:ident, $get:ident;)*) => {
        unsafe extern "C" {
            $(fn $set(value: u32) -> c_int; #[cfg(test)] fn $get() -> u32;)*
        }

        /// A setting of the whole library (`usrsctp_sysctl_set_...`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Setting { $($name),* }

        impl Setting {
            /// Sets it; false if the library refuses the value.
            #[must_use]
            pub fn set(self, value: u32) -> bool {
                // SAFETY: the function stores a number in a global of the library, whose only user we are.
                unsafe { match self { $(Self::$name => $set(value) == 0),* } }
            }

            /// Its value.
            #[cfg(test)]
            pub fn get(self) -> u32 {
                // SAFETY: as above, it reads one.
                unsafe { match self { $(Self::$name => $get()),* } }
            }
        }
    };
}

settings! {
    SendSpace: usrsctp_sysctl_set_sctp_sendspace, usrsctp_sysctl_get_sctp_sendspace;
    ReceiveSpace: usrsctp_sysctl_set_sctp_recvspace, usrsctp_sysctl_get_sctp_recvspace;
    Ecn: usrsctp_sysctl_set_sctp_ecn_enable, usrsctp_sysctl_get_sctp_ecn_enable;
    MaxBurst: usrsctp_sysctl_set_sctp_max_burst_default, usrsctp_sysctl_get_sctp_max_burst_default;
    FastMaxBurst: usrsctp_sysctl_set_sctp_fr_max_burst_default, usrsctp_sysctl_get_sctp_fr_max_burst_default;
    SackDelay: usrsctp_sysctl_set_sctp_delayed_sack_time_default, usrsctp_sysctl_get_sctp_delayed_sack_time_default;
    SackFrequency: usrsctp_sysctl_set_sctp_sack_freq_default, usrsctp_sysctl_get_sctp_sack_freq_default;
    Heartbeat: usrsctp_sysctl_set_sctp_heartbeat_interval_default,
        usrsctp_sysctl_get_sctp_heartbeat_interval_default;
    RtoMax: usrsctp_sysctl_set_sctp_rto_max_default, usrsctp_sysctl_get_sctp_rto_max_default;
    RtoMin: usrsctp_sysctl_set_sctp_rto_min_default, usrsctp_sysctl_get_sctp_rto_min_default;
    RtoInitial: usrsctp_sysctl_set_sctp_rto_initial_default, usrsctp_sysctl_get_sctp_rto_initial_default;
    InitMax: usrsctp_sysctl_set_sctp_init_rtx_max_default, usrsctp_sysctl_get_sctp_init_rtx_max_default;
    AssociationMax: usrsctp_sysctl_set_sctp_assoc_rtx_max_default, usrsctp_sysctl_get_sctp_assoc_rtx_max_default;
    PathMax: usrsctp_sysctl_set_sctp_path_rtx_max_default, usrsctp_sysctl_get_sctp_path_rtx_max_default;
    StreamsOut: usrsctp_sysctl_set_sctp_nr_outgoing_streams_default,
        usrsctp_sysctl_get_sctp_nr_outgoing_streams_default;
    InitialWindow: usrsctp_sysctl_set_sctp_initial_cwnd, usrsctp_sysctl_get_sctp_initial_cwnd;
    Interleave: usrsctp_sysctl_set_sctp_default_frag_interleave,
        usrsctp_sysctl_get_sctp_default_frag_interleave;
}
