//! A host's memory. It comes from here, so that a run that is over can be forgotten whole, whatever it left unfinished.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr;

/// Bytes before each block, which hold its class; blocks stay aligned for every type of C.
const HEAD: usize = 16;
/// The smallest block is two to this power.
const SMALLEST: u32 = 5;
const CHUNK: usize = 1 << 16;

/// Blocks of powers of two, cut from chunks; freed blocks of a class are a list through their first word.
pub(crate) struct Memory {
    chunks: Vec<(*mut u8, Layout)>,
    /// Place and bytes left in the last chunk.
    rest: (*mut u8, usize),
    free: [*mut u8; 64],
}

impl Memory {
    pub fn new() -> Self {
        Self { chunks: Vec::new(), rest: (ptr::null_mut(), 0), free: [ptr::null_mut(); 64] }
    }

    /// `malloc`.
    pub fn take(&mut self, size: usize) -> *mut u8 {
        let class = (size + HEAD).next_power_of_two().trailing_zeros().max(SMALLEST);
        let head = self.free[class as usize];
        let block = if head.is_null() { self.cut(1 << class) } else { head };
        // SAFETY: the block has at least HEAD + size bytes; a freed one holds the next of its list after its head.
        unsafe {
            if !head.is_null() {
                self.free[class as usize] = block.add(HEAD).cast::<*mut u8>().read();
            }
            block.cast::<u32>().write(class);
            block.add(HEAD)
        }
    }

    /// `free`.
    ///
    /// # Safety
    /// `block` is null or comes from `take` of the same memory and was not given back since.
    pub unsafe fn give_back(&mut self, block: *mut u8) {
        if block.is_null() {
            return;
        }
        // SAFETY: `take` has written the class before it, and a block has room for a pointer.
        unsafe {
            let class = block.sub(HEAD).cast::<u32>().read() as usize;
            block.cast::<*mut u8>().write(self.free[class]);
            self.free[class] = block.sub(HEAD);
        }
    }

    fn cut(&mut self, size: usize) -> *mut u8 {
        if self.rest.1 < size {
            let layout = Layout::from_size_align(CHUNK.max(size), 64).expect("a power of two");
            // SAFETY: the size is not zero.
            let chunk = unsafe { alloc_zeroed(layout) };
            if chunk.is_null() {
                handle_alloc_error(layout);
            }
            self.chunks.push((chunk, layout));
            self.rest = (chunk, layout.size());
        }
        let block = self.rest.0;
        // SAFETY: so many bytes are left in the chunk.
        self.rest = (unsafe { block.add(size) }, self.rest.1 - size);
        block
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for (chunk, layout) in self.chunks.drain(..) {
            // SAFETY: allocated in `cut` with this layout.
            unsafe { dealloc(chunk, layout) };
        }
    }
}
