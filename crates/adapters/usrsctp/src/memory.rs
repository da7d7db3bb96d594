//! The library's memory. It comes from here, so that a run that is over can be forgotten whole, whatever it left
//! unfinished: nothing of it is asked to clean up.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;

/// Bytes before each block, which hold its class; blocks stay aligned for every type of C.
const HEAD: usize = 16;
/// The smallest block is two to this power.
const SMALLEST: u32 = 5;
const CHUNK: usize = 1 << 20;

/// Blocks of powers of two, cut from chunks; freed blocks of a class are a list through their first word.
struct Memory {
    chunks: Vec<(*mut u8, Layout)>,
    /// Place and bytes left in the last chunk.
    rest: (*mut u8, usize),
    free: [*mut u8; 64],
}

thread_local! {
    static MEMORY: RefCell<Memory> = const {
        RefCell::new(Memory { chunks: Vec::new(), rest: (ptr::null_mut(), 0), free: [ptr::null_mut(); 64] })
    };
}

/// Gives back everything that the library holds. It must not run again before its variables are as at the start.
pub(crate) fn forget_everything() {
    MEMORY.with_borrow_mut(|memory| {
        memory.free = [ptr::null_mut(); 64];
        memory.rest = (ptr::null_mut(), 0);
        for (chunk, layout) in memory.chunks.drain(..) {
            // SAFETY: allocated in `take` with this layout.
            unsafe { dealloc(chunk, layout) };
        }
    });
}

impl Memory {
    fn take(&mut self, size: usize) -> *mut u8 {
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

/// `malloc`.
#[unsafe(no_mangle)]
extern "C" fn rexmit_usrsctp_malloc(size: usize) -> *mut c_void {
    MEMORY.with_borrow_mut(|memory| memory.take(size)).cast()
}

/// `calloc`.
#[unsafe(no_mangle)]
extern "C" fn rexmit_usrsctp_calloc(count: usize, size: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else { return ptr::null_mut() };
    let block = rexmit_usrsctp_malloc(bytes);
    // SAFETY: the block has so many bytes.
    unsafe { block.write_bytes(0, bytes) };
    block
}

/// `free`.
///
/// # Safety
/// `block` is null or comes from the functions above and was not freed since.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_usrsctp_free(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    MEMORY.with_borrow_mut(|memory| {
        // SAFETY: `take` has written the class before it, and a block has room for a pointer.
        unsafe {
            let class = block.cast::<u8>().sub(HEAD).cast::<u32>().read() as usize;
            block.cast::<*mut u8>().write(memory.free[class]);
            memory.free[class] = block.cast::<u8>().sub(HEAD);
        }
    });
}
