//! A connection of the library's, each call of it a safe function. While one is called, the end at work is at hand (`hooks.rs`).

use std::ffi::{CStr, c_void};
use std::net::SocketAddr;

use crate::ffi::{self, Look, Piece, RawConnection, Settings, answer};
use crate::hooks;

/// A connection. It is of the thread that made it, and its callbacks are answered for the end at work.
#[derive(Debug)]
pub(crate) struct Connection {
    raw: *mut RawConnection,
    /// An assertion has failed: it must not be touched again, and its memory is lost.
    broken: bool,
}

/// A connection within a call of its own: what callbacks do with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inner(*mut RawConnection);

/// The library's own words for what has failed, a number of `ffi::answer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed(pub i32);

fn done(code: i32) -> Result<(), Failed> {
    if code == answer::GAVE_UP {
        hooks::with(|talk| talk.gave_up = true);
    }
    if code == 0 { Ok(()) } else { Err(Failed(code)) }
}

/// What has come of a call that writes.
pub(crate) struct Wrote {
    /// Bytes of the datagram, or an answer.
    pub code: isize,
    /// Bytes of the stream's data in it; negative where there is no frame of the stream's.
    pub taken: isize,
}

impl Connection {
    /// A client's, or that of a server which gets this packet. `None` where a server does not take the packet.
    pub fn new(
        settings: &Settings,
        local: SocketAddr,
        remote: SocketAddr,
        packet: Option<&[u8]>,
    ) -> Option<Self> {
        let (local, remote) = (local.into(), remote.into());
        let packet = packet.unwrap_or_default();
        // SAFETY: the library copies what it is given.
        let raw = unsafe { ffi::rexmit_ngtcp2_new(settings, &local, &remote, packet.as_ptr(), packet.len()) };
        (!raw.is_null()).then_some(Self { raw, broken: false })
    }

    pub fn inner(&self) -> Inner {
        Inner(self.raw)
    }

    /// Takes a datagram in.
    pub fn read(&mut self, packet: &[u8], ecn: u8, now: u64) -> Result<(), Failed> {
        // SAFETY: the connection lives, as below in every function of this type, and the packet has this length.
        self.told(unsafe { ffi::rexmit_ngtcp2_read(self.raw, packet.as_ptr(), packet.len(), ecn, now) })
    }

    /// Lets timers expire.
    pub fn expire(&mut self, now: u64) -> Result<(), Failed> {
        // SAFETY: see `read`.
        self.told(unsafe { ffi::rexmit_ngtcp2_expire(self.raw, now) })
    }

    /// Writes (more of) a datagram.
    ///
    /// # Safety
    /// The pieces lie where they are until the library says that they are acknowledged, or is dropped.
    pub unsafe fn write(
        &mut self,
        dest: &mut [u8],
        (stream, pieces, fin): (i64, &[Piece], bool),
        ecn: &mut u8,
        now: u64,
    ) -> Wrote {
        let mut taken = -1;
        // SAFETY: the buffers have the sizes that are said; the pieces are the caller's promise.
        let code = unsafe {
            ffi::rexmit_ngtcp2_write(
                self.raw,
                dest.as_mut_ptr(),
                dest.len(),
                stream,
                pieces.as_ptr(),
                pieces.len(),
                fin.into(),
                &mut taken,
                ecn,
                now,
            )
        };
        Wrote { code: self.or_gave_up(code), taken }
    }

    /// Writes (more of) a datagram of UDP with a DATAGRAM frame of these bytes, if it has room and may leave: as
    /// [`Self::write`], where all or nothing is taken.
    pub fn write_datagram(&mut self, dest: &mut [u8], bytes: &[u8], ecn: &mut u8, now: u64) -> Wrote {
        let piece = Piece { base: bytes.as_ptr(), len: bytes.len() };
        let mut taken = 0;
        // SAFETY: the buffers have the sizes that are said; of a datagram the library keeps nothing.
        let code = unsafe {
            ffi::rexmit_ngtcp2_write_datagram(
                self.raw,
                dest.as_mut_ptr(),
                dest.len(),
                &piece,
                &mut taken,
                ecn,
                now,
            )
        };
        Wrote { code: self.or_gave_up(code), taken: if taken == 0 { -1 } else { bytes.len() as isize } }
    }

    /// The most bytes that a datagram may have now; `None` where the peer takes none.
    pub fn most_datagram(&self) -> Option<u64> {
        // SAFETY: see `read`.
        let most = unsafe { ffi::rexmit_ngtcp2_most_datagram(self.raw) };
        (most > 0).then_some(most as u64)
    }

    /// All datagrams of this instant have left.
    pub fn sent(&mut self, now: u64) {
        // SAFETY: see `read`.
        unsafe { ffi::rexmit_ngtcp2_sent(self.raw, now) };
    }

    /// Bytes that may leave together.
    pub fn burst(&self) -> usize {
        // SAFETY: see `read`.
        unsafe { ffi::rexmit_ngtcp2_burst(self.raw) }
    }

    /// Bytes that the peer still takes.
    pub fn window(&self) -> u64 {
        // SAFETY: see `read`.
        unsafe { ffi::rexmit_ngtcp2_window(self.raw) }
    }

    /// When its next timer is due.
    pub fn due(&self) -> Option<u64> {
        // SAFETY: see `read`.
        let due = unsafe { ffi::rexmit_ngtcp2_due(self.raw) };
        (due != u64::MAX).then_some(due)
    }

    /// Closes it with a code of the application's, or for what the library has answered; bytes of the datagram that says so.
    pub fn close(&mut self, dest: &mut [u8], why: Result<u64, Failed>, now: u64) -> usize {
        let (why, code) = match why {
            Ok(code) => (0, code),
            Err(Failed(why)) => (why, 0),
        };
        // SAFETY: see `read`; the buffer has this size.
        let wrote =
            unsafe { ffi::rexmit_ngtcp2_close(self.raw, dest.as_mut_ptr(), dest.len(), why, code, now) };
        usize::try_from(self.or_gave_up(wrote)).unwrap_or(0)
    }

    /// True where the peer's application has closed it.
    pub fn peer_closed(&self) -> bool {
        // SAFETY: see `read`.
        unsafe { ffi::rexmit_ngtcp2_peer_closed(self.raw) != 0 }
    }

    /// A new stream of its own; `None` while the peer allows no more.
    pub fn open_stream(&mut self) -> Option<i64> {
        let mut stream = -1;
        // SAFETY: see `read`.
        let code = unsafe { ffi::rexmit_ngtcp2_open_stream(self.raw, &mut stream) };
        self.told(code).ok().map(|()| stream)
    }

    /// The application has read so many bytes of a stream, and perhaps all of it.
    pub fn consumed(&mut self, stream: i64, len: u64, over: bool) {
        // SAFETY: see `read`.
        let code = unsafe { ffi::rexmit_ngtcp2_consumed(self.raw, stream, len, over.into()) };
        self.or_gave_up(code as isize);
    }

    pub fn look(&self) -> Look {
        let mut look = Look::default();
        // SAFETY: see `read`.
        unsafe { ffi::rexmit_ngtcp2_look(self.raw, &mut look) };
        look
    }

    fn told(&mut self, code: i32) -> Result<(), Failed> {
        let code = self.or_gave_up(code as isize) as i32;
        if code == 0 { Ok(()) } else { Err(Failed(code)) }
    }

    /// An answer. It may have given up in this call, or in one that a callback has made within it.
    fn or_gave_up(&mut self, code: isize) -> isize {
        let within = hooks::with(|talk| talk.gave_up).unwrap_or(false);
        self.broken |= within || code == answer::GAVE_UP as isize;
        if self.broken { answer::GAVE_UP as isize } else { code }
    }

    /// What it said as it gave up, if it has.
    pub fn failure(&self) -> Option<String> {
        // SAFETY: the text is the thread's, and ends with a zero.
        self.broken
            .then(|| unsafe { CStr::from_ptr(ffi::rexmit_ngtcp2_said()) }.to_string_lossy().into_owned())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.broken {
            // SAFETY: it lives, and is not used again.
            unsafe { ffi::rexmit_ngtcp2_drop(self.raw) };
        }
    }
}

impl Inner {
    /// The connection that called back.
    ///
    /// # Safety
    /// It is the one that the library handed to a callback, or lives as long as this is used.
    pub unsafe fn of(raw: *mut RawConnection) -> Self {
        Self(raw)
    }

    /// Its transport parameters, as TLS carries them.
    pub fn own_params(self) -> Vec<u8> {
        let mut buffer = vec![0; 512];
        // SAFETY: the connection lives, as below in every function of this type, and the buffer has this size.
        let len = unsafe { ffi::rexmit_ngtcp2_own_params(self.0, buffer.as_mut_ptr(), buffer.len()) };
        buffer.truncate(usize::try_from(len).unwrap_or(0));
        buffer
    }

    /// Those of the peer.
    pub fn peer_params(self, params: &[u8]) -> Result<(), Failed> {
        // SAFETY: see `own_params`.
        done(unsafe { ffi::rexmit_ngtcp2_peer_params(self.0, params.as_ptr(), params.len()) })
    }

    /// Those that the peer had earlier.
    pub fn early_params(self, params: &[u8]) -> Result<(), Failed> {
        // SAFETY: see `own_params`.
        done(unsafe { ffi::rexmit_ngtcp2_early_params(self.0, params.as_ptr(), params.len()) })
    }

    /// Installs keys for Initial packets: each is of a packet and of a header, made by `hooks`, whose the library's they are
    /// from now on.
    pub fn initial_keys(self, opens: [*mut c_void; 2], seals: [*mut c_void; 2]) -> Result<(), Failed> {
        // SAFETY: see `own_params`.
        done(unsafe { ffi::rexmit_ngtcp2_initial_keys(self.0, opens[0], opens[1], seals[0], seals[1]) })
    }

    /// Installs keys of another level, for one direction.
    pub fn keys(self, level: i32, seals: bool, [packet, head]: [*mut c_void; 2]) -> Result<(), Failed> {
        // SAFETY: see `own_params`.
        done(unsafe { ffi::rexmit_ngtcp2_keys(self.0, level, seals.into(), packet, head) })
    }

    /// TLS has something to say.
    pub fn submit(self, level: i32, data: &[u8]) -> Result<(), Failed> {
        // SAFETY: see `own_params`; the library copies the data.
        done(unsafe { ffi::rexmit_ngtcp2_submit(self.0, level, data.as_ptr(), data.len()) })
    }

    /// TLS has shaken hands.
    pub fn complete(self) {
        // SAFETY: see `own_params`.
        unsafe { ffi::rexmit_ngtcp2_complete(self.0) };
    }

    /// The server has not taken early data.
    pub fn reject(self) -> Result<(), Failed> {
        // SAFETY: see `own_params`.
        done(unsafe { ffi::rexmit_ngtcp2_reject(self.0) })
    }
}
