//! What passes an interface of the driver, recorded by it.

use std::ffi::c_void;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::{Device, Interface, calls};
use crate::sys::packet_socket::Captured;

/// `struct rexmit_record`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Record {
    time: u64,
    len: u32,
    outgoing: u32,
}

/// The records of an interface from now on; the driver stops when it goes.
///
/// A packet socket sees the same packets at the same times. It takes two system calls a packet, and to close it waits
/// for whoever may still look at it.
#[derive(Debug)]
pub struct Recorder(Arc<Device>);

impl Interface {
    /// Begins to record what passes.
    pub fn record(&self) -> Recorder {
        let recorder = Recorder(Arc::clone(&self.0));
        recorder.switch(true);
        recorder
    }
}

impl Recorder {
    fn switch(&self, on: bool) {
        if let Some(calls) = calls() {
            // SAFETY: the interface is there while its descriptor is open.
            unsafe { (calls.record)(self.0.handle.as_ptr(), on.into()) };
        }
    }

    /// Hands over what has passed since the last call, in order.
    pub fn drain(&mut self, mut to: impl FnMut(Captured, &[u8])) {
        let Some(calls) = calls() else { return };
        loop {
            let mut at: *const c_void = std::ptr::null();
            // SAFETY: the interface is there while its descriptor is open; there is room for a pointer.
            let len = unsafe { (calls.recorded)(self.0.handle.as_ptr(), &raw mut at) } as usize;
            if len == 0 {
                return;
            }
            // SAFETY: this many bytes stay there until the next call.
            let mut left = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), len) };
            while let Some((head, behind)) = left.split_at_checked(size_of::<Record>()) {
                // SAFETY: the driver puts a record wherever one ends; any bytes are numbers.
                let record: Record = unsafe { std::ptr::read_unaligned(head.as_ptr().cast()) };
                let len = record.len as usize;
                let Some(bytes) = behind.get(..len) else { return };
                to(Captured { time: record.time, len, outgoing: record.outgoing != 0 }, bytes);
                left = behind.get(len.next_multiple_of(8)..).unwrap_or_default();
            }
        }
    }

    /// Packets that found no memory.
    pub fn missed(&self) -> u64 {
        // SAFETY: the interface is there while its descriptor is open.
        calls().map_or(0, |calls| unsafe { (calls.missed)(self.0.handle.as_ptr()) })
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.switch(false);
    }
}

impl AsFd for Recorder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.descriptor.as_fd()
    }
}
