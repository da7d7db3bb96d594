//! Buffers for packets on their way: used again, touched before a run, limited.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Room for the largest packet, its link header and what an interface puts before it.
pub const LARGEST: usize = 65_536 + 64;
/// Up to this many bytes get a buffer of their own size.
const SMALL: usize = 2_048;
/// Up to this many bytes move from a large buffer into one of this size.
const MIDDLE: usize = 16_384;

/// A store of buffers. A clone is the same store.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Store>);

#[derive(Debug)]
struct Store {
    /// Free ones, by size: middle, large.
    free: [Mutex<Vec<Box<[u8]>>>; 2],
    /// Bytes of buffers that are out.
    out: AtomicU64,
    limit: u64,
}

impl Pool {
    /// Buffers of at most `limit` bytes together.
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Store { free: Default::default(), out: AtomicU64::new(0), limit }))
    }

    /// Makes large buffers of `bytes` together and writes to each page of them, so that no page is missing during
    /// a run.
    pub fn touch(&self, bytes: u64) {
        let wanted = (bytes.min(self.0.limit) as usize).div_ceil(LARGEST);
        let mut free = lock(&self.0.free[1]);
        while free.len() < wanted {
            let mut buffer = vec![0; LARGEST].into_boxed_slice();
            for page in buffer.chunks_mut(4096) {
                // Zeros from the kernel are not memory yet.
                page[0] = std::hint::black_box(1);
            }
            free.push(buffer);
        }
    }

    /// An empty buffer with room for the largest packet.
    pub fn large(&self) -> Buffer {
        let bytes = lock(&self.0.free[1]).pop();
        self.buffer(bytes.unwrap_or_else(|| vec![0; LARGEST].into_boxed_slice()), LARGEST)
    }

    /// A buffer that holds these bytes.
    pub fn copy(&self, bytes: &[u8]) -> Buffer {
        if bytes.len() <= SMALL {
            return self.buffer(bytes.into(), bytes.len());
        }
        let place = usize::from(bytes.len() > MIDDLE);
        let room = [MIDDLE, LARGEST.max(bytes.len())][place];
        let free = lock(&self.0.free[place]).pop().filter(|b| b.len() >= bytes.len());
        let mut buffer = free.unwrap_or_else(|| vec![0; room].into_boxed_slice());
        buffer[..bytes.len()].copy_from_slice(bytes);
        self.buffer(buffer, bytes.len())
    }

    /// True where more than the limit is out: what is read now has no room.
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        self.0.out.load(Ordering::Relaxed) > self.0.limit
    }

    /// Bytes of the buffers that are out.
    pub fn out(&self) -> u64 {
        self.0.out.load(Ordering::Relaxed)
    }

    fn buffer(&self, bytes: Box<[u8]>, len: usize) -> Buffer {
        self.0.out.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Buffer { bytes: Held(bytes, self.clone()), len }
    }
}

/// Where interfaces read to: a large buffer that is kept until something large fills it.
#[derive(Debug)]
pub struct Intake {
    pool: Pool,
    spare: Option<Buffer>,
}

impl Intake {
    /// Buffers of this pool.
    pub fn new(pool: Pool) -> Self {
        Self { pool, spare: None }
    }

    /// The pool.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Room for the largest packet.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        self.spare.get_or_insert_with(|| self.pool.large())
    }

    /// The first `len` bytes of the room: itself, or a copy where that saves much memory.
    #[inline]
    pub fn take(&mut self, len: usize) -> Buffer {
        let mut full = self.spare.take().unwrap_or_else(|| self.pool.large());
        if len > MIDDLE {
            full.len = len;
            return full;
        }
        let copy = self.pool.copy(&full[..len]);
        self.spare = Some(full);
        copy
    }
}

impl Default for Pool {
    /// Without a limit.
    fn default() -> Self {
        Self::new(u64::MAX)
    }
}

/// A buffer of a [`Pool`], which it goes back to.
#[derive(Debug)]
pub struct Buffer {
    bytes: Held,
    len: usize,
}

/// The memory of a buffer, and where it came from.
#[derive(Debug)]
struct Held(Box<[u8]>, Pool);

impl Buffer {
    /// The pool that it came from.
    pub fn pool(&self) -> &Pool {
        &self.bytes.1
    }
}

impl Deref for Buffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes.0[..self.len]
    }
}

impl Deref for Held {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let store = &self.1.0;
        store.out.fetch_sub(self.0.len() as u64, Ordering::Relaxed);
        let place = match self.0.len() {
            MIDDLE => 0,
            LARGEST => 1,
            _ => return,
        };
        let bytes = std::mem::take(&mut self.0);
        lock(&store.free[place]).push(bytes);
    }
}

fn lock(free: &Mutex<Vec<Box<[u8]>>>) -> std::sync::MutexGuard<'_, Vec<Box<[u8]>>> {
    free.lock().unwrap_or_else(PoisonError::into_inner)
}
