//! The functions of `glue.c` as they are declared there.

use std::ffi::{c_char, c_int, c_void};
use std::net::{IpAddr, SocketAddr};

/// Addresses of the library's functions, in the order of `CALLED` in `build.rs`.
#[repr(transparent)]
pub(crate) struct Calls(pub [usize; super::copy::CALLS.len()]);

/// A protocol control block of the library's; only the copy at work may be handed one.
pub(crate) type Pcb = *mut c_void;

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

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    pub send_buffer: u32,
    pub receive_buffer: u32,
    pub nagle: u8,
    pub tos: u8,
}

/// A connection's state. Times are in its ticks of half a second.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    pub state: u32,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub snd_wnd: u32,
    pub in_flight: u32,
    pub queued: u32,
    pub send_room: u32,
    /// Eight times the smoothed round-trip time, and four times its variation.
    pub srtt: u32,
    pub rttvar: u32,
    pub rto: u32,
    pub backoff: u32,
    pub duplicates: u32,
    /// Probes of a closed window in a row.
    pub probes: u32,
    /// Not 0 in fast recovery.
    pub recovers: u32,
    pub phase: u32,
}

unsafe extern "C" {
    pub fn rexmit_lwip_at_work(calls: *const Calls);
    pub fn rexmit_lwip_netif_size() -> usize;
    pub fn rexmit_lwip_start();
    pub fn rexmit_lwip_add_address(netif: *mut c_void, place: *const Place, mtu: u16) -> c_int;
    pub fn rexmit_lwip_arrives(netif: *mut c_void, bytes: *const u8, len: u16);
    pub fn rexmit_lwip_connect(end: usize, local: *const Place, remote: *const Place) -> c_int;
    pub fn rexmit_lwip_listen(local: *const Place) -> c_int;
    pub fn rexmit_lwip_write(pcb: Pcb, bytes: *const u8, len: u16, more: c_int) -> u16;
    pub fn rexmit_lwip_output(pcb: Pcb);
    pub fn rexmit_lwip_read(pcb: Pcb, len: u16);
    pub fn rexmit_lwip_shut(pcb: Pcb);
    pub fn rexmit_lwip_abort(pcb: Pcb);
    pub fn rexmit_lwip_look(pcb: Pcb, look: *mut Look);
    pub fn rexmit_lwip_expire();
    pub fn rexmit_lwip_sleep() -> u32;

    // Never called from here: where the library is led.
    pub fn rexmit_lwip_tcp_alloc(prio: u8) -> Pcb;
    pub fn rexmit_lwip_tcp_free(pcb: Pcb);
    pub fn rexmit_lwip_say(flag: c_int, format: *const c_char, ...) -> c_int;
    pub fn rexmit_lwip_stop();
    pub fn rexmit_lwip_tcp_eff_send_mss_netif(mss: u16, netif: *mut c_void, to: *const c_void) -> u16;
}
