//! What the library asks and tells, and our answers, on behalf of the end at work.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::slice;

use rexmit_stack::quic::Space;
use rustls::quic::{HeaderProtectionKey, PacketKey};

use crate::connection::Inner;
use crate::datagrams::Datagrams;
use crate::ffi::RawConnection;
use crate::handshake::{Broken, Handshake, Party};
use crate::streams::{Arriving, Sending};

/// A key, as the library holds it.
pub(crate) type Handle = *mut c_void;

/// Bytes of the tag behind what is sealed.
const TAG: usize = 16;

/// What an end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The handshake is complete.
    Connected,
    /// The server has not taken the data that were sent before.
    Rejected,
    /// There is something to read, or a stream has ended.
    Readable,
    /// There may be room for more.
    Room,
    /// The end of a stream of its own is acknowledged.
    Finished,
}

/// What an end has at hand while the library works for it.
pub(crate) struct Talk {
    /// `None` while it is at work itself.
    pub handshake: Option<Handshake>,
    pub sending: Sending,
    pub arriving: Arriving,
    pub datagrams: Datagrams,
    /// What the library has logged.
    pub log: Vec<u8>,
    pub news: Vec<News>,
    /// An assertion of the library's has failed.
    pub gave_up: bool,
}

impl Talk {
    pub fn new(party: Party) -> Self {
        Self {
            handshake: Some(Handshake::new(party)),
            sending: Sending::default(),
            arriving: Arriving::default(),
            datagrams: Datagrams::default(),
            log: Vec::new(),
            news: Vec::new(),
            gave_up: false,
        }
    }
}

thread_local! {
    static AT_WORK: RefCell<Option<Box<Talk>>> = const { RefCell::new(None) };
}

/// Does something in which the library has this at hand.
pub(crate) fn at_work<T>(talk: &mut Option<Box<Talk>>, act: impl FnOnce() -> T) -> T {
    AT_WORK.with_borrow_mut(|at_work| std::mem::swap(at_work, talk));
    let result = act();
    AT_WORK.with_borrow_mut(|at_work| std::mem::swap(at_work, talk));
    result
}

/// Something of the end at work.
pub(crate) fn with<T>(what: impl FnOnce(&mut Talk) -> T) -> Option<T> {
    AT_WORK.with_borrow_mut(|at_work| at_work.as_deref_mut().map(what))
}

/// Something of the handshake of the end at work, which may make the library call back.
pub(crate) fn handshake<T>(what: impl FnOnce(&mut Handshake) -> T) -> Option<T> {
    let mut handshake = with(|talk| talk.handshake.take())??;
    let result = what(&mut handshake);
    with(|talk| talk.handshake = Some(handshake));
    Some(result)
}

// --- Keys ---

struct Key {
    inner: Box<dyn PacketKey>,
    space: Space,
}

/// A packet's key as the library holds it. One that the library does not take is lost, as its connection is.
pub(crate) fn packet_key(inner: Box<dyn PacketKey>, space: Space) -> Handle {
    Box::into_raw(Box::new(Key { inner, space })).cast()
}

/// The same of a key for headers.
pub(crate) fn header_key(inner: Box<dyn HeaderProtectionKey>) -> Handle {
    Box::into_raw(Box::new(inner)).cast()
}

/// # Safety
/// `glue.c` calls it with a key of [`packet_key`], whose it no longer is.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_ngtcp2_drop_packet_key(key: Handle) {
    // SAFETY: as for this function.
    drop(unsafe { Box::from_raw(key.cast::<Key>()) });
}

/// # Safety
/// `glue.c` calls it with a key of [`header_key`], whose it no longer is.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_ngtcp2_drop_header_key(key: Handle) {
    // SAFETY: as for this function.
    drop(unsafe { Box::from_raw(key.cast::<Box<dyn HeaderProtectionKey>>()) });
}

/// Seals `len` bytes at `text` where they are, and puts the tag behind them.
///
/// # Safety
/// `glue.c` calls it with a key of [`packet_key`], `head_len` bytes at `head`, and room for the tag.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_ngtcp2_seal(
    key: Handle,
    number: u64,
    head: *const u8,
    head_len: usize,
    text: *mut u8,
    len: usize,
) -> c_int {
    // SAFETY: as for this function; header and text of a packet do not overlap.
    let (key, head, text) = unsafe {
        (
            &*key.cast::<Key>(),
            slice::from_raw_parts(head, head_len),
            slice::from_raw_parts_mut(text, len + TAG),
        )
    };
    let (text, behind) = text.split_at_mut(len);
    rexmit_tls::seals(key.space, number, text);
    match key.inner.encrypt_in_place(number, head, text) {
        Ok(tag) if tag.as_ref().len() == TAG => {
            behind.copy_from_slice(tag.as_ref());
            0
        }
        _ => -1,
    }
}

/// Opens `len` bytes at `text`, the tag among them, where they are.
///
/// # Safety
/// `glue.c` calls it with a key of [`packet_key`], and `head_len` bytes at `head`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_ngtcp2_open(
    key: Handle,
    number: u64,
    head: *const u8,
    head_len: usize,
    text: *mut u8,
    len: usize,
) -> c_int {
    // SAFETY: as for this function; the text is a copy.
    let (key, head, text) = unsafe {
        (&*key.cast::<Key>(), slice::from_raw_parts(head, head_len), slice::from_raw_parts_mut(text, len))
    };
    match key.inner.decrypt_in_place(number, head, text) {
        Ok(plain) => {
            rexmit_tls::opens(key.space, plain);
            0
        }
        Err(_) => -1,
    }
}

/// The five bytes that hide a header (RFC 9001 section 5.4.1), as far as any header needs them. rustls hides headers itself; what
/// it makes of zeros is the mask.
///
/// # Safety
/// `glue.c` calls it with a key of [`header_key`], a sample, and room for a mask.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_ngtcp2_mask(key: Handle, sample: *const u8, mask: *mut u8) -> c_int {
    // SAFETY: as for this function.
    let (key, sample, mask) = unsafe {
        let key = &*key.cast::<Box<dyn HeaderProtectionKey>>();
        (key, slice::from_raw_parts(sample, key.sample_len()), slice::from_raw_parts_mut(mask, 5))
    };
    // A short header, whose number has four bytes.
    let (mut first, mut number) = (3, [0; 4]);
    if key.encrypt_in_place(sample, &mut first, &mut number).is_err() {
        return -1;
    }
    mask[0] = first ^ 3;
    mask[1..].copy_from_slice(&number);
    0
}

// --- TLS ---

/// As the library takes an answer: an alert is a number above zero.
fn answer(result: Option<Result<(), Broken>>) -> c_int {
    match result {
        Some(Ok(())) => 0,
        Some(Err(Broken::Alert(alert))) => alert.into(),
        Some(Err(Broken::Refused)) | None => -1,
    }
}

/// # Safety
/// `glue.c` calls it for a connection that works, with `len` bytes at `id`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_ngtcp2_begin(raw: *mut RawConnection, id: *const u8, len: usize) -> c_int {
    // SAFETY: as for this function.
    let (connection, id) = unsafe { (Inner::of(raw), slice::from_raw_parts(id, len)) };
    answer(handshake(|handshake| handshake.begin(connection, id)))
}

/// # Safety
/// `glue.c` calls it for a connection that works, with `len` bytes at `data`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_ngtcp2_handshake(raw: *mut RawConnection, data: *const u8, len: usize) -> c_int {
    // SAFETY: as for this function.
    let (connection, data) = unsafe { (Inner::of(raw), bytes(data, len)) };
    answer(handshake(|handshake| handshake.reads(connection, data)))
}

/// # Safety
/// `glue.c` calls it, with places for two keys.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_ngtcp2_next_keys(opens: *mut Handle, seals: *mut Handle) -> c_int {
    let Some(keys) = handshake(Handshake::next_keys).flatten() else { return -1 };
    // SAFETY: as for this function.
    unsafe {
        opens.write(keys[0]);
        seals.write(keys[1]);
    }
    0
}

/// # Safety
/// `glue.c` calls it, with room for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_ngtcp2_random(place: *mut u8, len: usize) {
    // SAFETY: as for this function.
    let bytes = unsafe { slice::from_raw_parts_mut(place, len) };
    bytes.fill(0);
    // Whoever works has its random numbers at hand.
    let _ = rexmit_tls::fill(bytes);
}

// --- What it tells ---

fn tell(news: News) {
    with(|talk| {
        if talk.news.last() != Some(&news) || news == News::Finished {
            talk.news.push(news);
        }
    });
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_ngtcp2_connected() {
    tell(News::Connected);
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_ngtcp2_rejected() {
    tell(News::Rejected);
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_ngtcp2_opened(stream: i64) {
    with(|talk| talk.arriving.open(stream));
}

/// # Safety
/// `glue.c` calls it, with `len` bytes at `data`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_ngtcp2_received(stream: i64, data: *const u8, len: usize, fin: c_int) {
    // SAFETY: as for this function.
    let data = unsafe { bytes(data, len) };
    with(|talk| talk.arriving.receive(stream, data, fin != 0));
    tell(News::Readable);
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_ngtcp2_acknowledged(stream: i64, len: u64) {
    with(|talk| talk.sending.acknowledged(stream, len));
    tell(News::Room);
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_ngtcp2_closed(stream: i64) {
    if with(|talk| talk.sending.is_own(stream)) == Some(true) {
        tell(News::Finished);
    }
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_ngtcp2_has_room(stream: i64) {
    with(|talk| talk.sending.unblock(stream));
    tell(News::Room);
}

/// # Safety
/// `glue.c` calls it, with `len` bytes at `data`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_ngtcp2_datagram(data: *const u8, len: usize) {
    // SAFETY: as for this function.
    let data = unsafe { bytes(data, len) };
    with(|talk| talk.datagrams.inbox.arrived(data.to_vec()));
    tell(News::Readable);
}

/// # Safety
/// `glue.c` calls it, with `len` bytes at `data`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_ngtcp2_logged(data: *const u8, len: usize) {
    // SAFETY: as for this function.
    let data = unsafe { bytes(data, len) };
    with(|talk| talk.log.extend_from_slice(data));
}

/// The library's bytes; of none it does not say where they are.
///
/// # Safety
/// There are `len` bytes at `data`.
unsafe fn bytes<'a>(data: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: as for this function.
    unsafe { slice::from_raw_parts(data, len) }
}
