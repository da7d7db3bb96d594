//! The library's sockets, each call a safe function.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use crate::UsrsctpError;
use crate::ffi::{self, ConnAddress, PathParameters, ReceiveInfo, SendParameters, Status};

/// A socket of the library: its own, listening or connected. It lives until the library is forgotten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawSocket(*mut ffi::Socket);

/// What a read gave.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub len: usize,
    pub info: ReceiveInfo,
    /// It ends its message.
    pub ends: bool,
}

impl RawSocket {
    /// A socket bound to the address that is this number, and to a port.
    pub fn new(number: usize, port: u16) -> Result<Self, UsrsctpError> {
        // SAFETY: no callbacks are given.
        let socket = unsafe {
            let (kind, protocol) = (ffi::SOCK_STREAM, ffi::IPPROTO_SCTP);
            ffi::usrsctp_register_address(number as *mut c_void);
            ffi::usrsctp_socket(ffi::AF_CONN, kind, protocol, ptr::null(), ptr::null(), 0, ptr::null_mut())
        };
        if socket.is_null() {
            return Err(refused("usrsctp_socket"));
        }
        let socket = Self(socket);
        // SAFETY: the socket lives; so below in every function of this type.
        done("usrsctp_set_non_blocking", unsafe { ffi::usrsctp_set_non_blocking(socket.0, 1) })?;
        let here = address(number, port);
        // SAFETY: the address has its size.
        done("usrsctp_bind", unsafe { ffi::usrsctp_bind(socket.0, &raw const here, 16) })?;
        Ok(socket)
    }

    /// Sets an option whose value is `T`.
    pub fn set<T: Copy>(self, level: c_int, name: c_int, value: T) -> Result<(), UsrsctpError> {
        let len = size_of::<T>() as u32;
        // SAFETY: the value has the size that is said, and the library copies it.
        let code = unsafe { ffi::usrsctp_setsockopt(self.0, level, name, (&raw const value).cast(), len) };
        done("usrsctp_setsockopt", code)
    }

    /// Sets heartbeats and the MTU without IP and SCTP headers.
    pub fn set_path(self, heartbeat_ms: u32, mtu: u32) -> Result<(), UsrsctpError> {
        let beats = if heartbeat_ms == 0 { ffi::SPP_HB_DISABLE } else { ffi::SPP_HB_ENABLE };
        let path = PathParameters {
            address: ffi::AnyAddress([0; 128]),
            association: 0,
            heartbeat_ms,
            mtu,
            flags: beats | ffi::SPP_PMTUD_DISABLE,
            flow_label: 0,
            max_retransmits: 0,
            dscp: 0,
        };
        self.set(ffi::IPPROTO_SCTP, ffi::SCTP_PEER_ADDR_PARAMS, path)
    }

    pub fn listen(self) -> Result<(), UsrsctpError> {
        // SAFETY: see `new`.
        done("usrsctp_listen", unsafe { ffi::usrsctp_listen(self.0, 1) })
    }

    /// The socket of an association that has come up.
    pub fn accept(self) -> Option<Self> {
        // SAFETY: no address is asked for.
        let socket = unsafe { ffi::usrsctp_accept(self.0, ptr::null_mut(), ptr::null_mut()) };
        if socket.is_null() {
            return None;
        }
        // SAFETY: see `new`.
        unsafe { ffi::usrsctp_set_non_blocking(socket, 1) };
        Some(Self(socket))
    }

    /// Connects to a port behind the address that is this number. The library answers that it is under way.
    pub fn connect(self, number: usize, port: u16) {
        let there = address(number, port);
        // SAFETY: the address has its size.
        unsafe { ffi::usrsctp_connect(self.0, &raw const there, 16) };
    }

    /// No more data from this side.
    pub fn shutdown(self) {
        // SAFETY: see `new`.
        unsafe { ffi::usrsctp_shutdown(self.0, ffi::SHUT_WR) };
    }

    /// True if there may be something to read: data, the end, or an error.
    pub fn is_readable(self) -> bool {
        // SAFETY: see `new`.
        unsafe { ffi::usrsctp_get_events(self.0) & ffi::EVENT_READ != 0 }
    }

    /// Sends a message; false if there is no room for it.
    pub fn send(self, message: &[u8], how: &SendParameters) -> bool {
        let (info, len) = ((&raw const *how).cast(), size_of::<SendParameters>() as u32);
        // SAFETY: the message and its parameters have the sizes that are said; the library copies them.
        let taken = unsafe {
            let data = message.as_ptr().cast();
            ffi::usrsctp_sendv(self.0, data, message.len(), ptr::null(), 0, info, len, ffi::SCTP_SENDV_SPA, 0)
        };
        taken >= 0
    }

    /// Reads the next part of a message into `buffer`; `None` if there is none.
    pub fn receive(self, buffer: &mut [u8], peek: bool) -> Option<Part> {
        let mut from = [0_u64; 16];
        let (mut from_len, mut info) = (128_u32, ReceiveInfo::default());
        let (mut info_len, mut kind) = (size_of::<ReceiveInfo>() as u32, 0 as c_uint);
        let mut flags: c_int = if peek { ffi::MSG_PEEK } else { 0 };
        // SAFETY: every buffer has the size that is said.
        let len = unsafe {
            ffi::usrsctp_recvv(
                self.0,
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                from.as_mut_ptr().cast(),
                &raw mut from_len,
                (&raw mut info).cast(),
                &raw mut info_len,
                &raw mut kind,
                &raw mut flags,
            )
        };
        let ends = flags & ffi::MSG_EOR != 0;
        (len > 0).then_some(Part { len: len as usize, info, ends })
    }

    /// The association's state; `None` without one.
    pub fn status(self) -> Option<Status> {
        let mut status = std::mem::MaybeUninit::<Status>::zeroed();
        let mut len = size_of::<Status>() as u32;
        // SAFETY: the structure has the size that is said.
        let code = unsafe {
            let value = status.as_mut_ptr().cast();
            ffi::usrsctp_getsockopt(self.0, ffi::IPPROTO_SCTP, ffi::SCTP_STATUS, value, &raw mut len)
        };
        // SAFETY: all of it are numbers, for which zero bytes are values too.
        (code == 0).then(|| unsafe { status.assume_init() })
    }
}

/// A packet arrives at the end of this number.
pub(crate) fn input(number: usize, packet: &[u8], ecn: u8) {
    // SAFETY: the library copies the bytes.
    unsafe {
        ffi::usrsctp_conninput(number as *mut c_void, packet.as_ptr().cast(), packet.len(), ecn);
    }
}

fn address(number: usize, port: u16) -> ConnAddress {
    ConnAddress { family: ffi::AF_CONN as u16, port: port.to_be(), address: number }
}

fn done(call: &'static str, code: c_int) -> Result<(), UsrsctpError> {
    if code == 0 { Ok(()) } else { Err(refused(call)) }
}

fn refused(call: &'static str) -> UsrsctpError {
    UsrsctpError::Refused { call, code: std::io::Error::last_os_error().raw_os_error().unwrap_or(0) }
}
