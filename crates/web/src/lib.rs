//! The model for a page: a request as JSON in, bytes out, by a plain C ABI that WebAssembly and JavaScript share.
//!
//! A page writes a [`Request`] where [`rexmit_input`] says, calls [`rexmit_run`], and reads [`rexmit_output_len`] bytes
//! from [`rexmit_output`]: a block as `rexmit.plot.pack` describes it (not compressed), the captures of both hosts one
//! after the other, or, where [`rexmit_run`] gives 1, one line of text that says what is wrong.
//!
//! What it has of stacks are the models of TCP and SCTP, and a block has the tables of one connection of TCP.

use std::sync::{Mutex, MutexGuard, PoisonError};

mod answer;
mod block;
mod request;
mod sacked;
mod seen;
mod tables;

pub use answer::answer;
pub use request::{Request, Wanted};

/// What goes in and what has come out.
#[derive(Debug)]
struct Desk {
    input: Vec<u8>,
    output: Vec<u8>,
}

static DESK: Mutex<Desk> = Mutex::new(Desk { input: Vec::new(), output: Vec::new() });

fn desk() -> MutexGuard<'static, Desk> {
    DESK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the page writes a request of `len` bytes; valid until the next call.
#[allow(unsafe_code, reason = "JavaScript calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn rexmit_input(len: usize) -> *mut u8 {
    let mut desk = desk();
    desk.input.clear();
    desk.input.resize(len, 0);
    desk.input.as_mut_ptr()
}

/// Does what the request says. 0 where that is answered, 1 where the answer is one line that says what is wrong.
#[allow(unsafe_code, reason = "JavaScript calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn rexmit_run() -> u32 {
    let mut desk = desk();
    match answer(&desk.input) {
        Ok(bytes) => {
            desk.output = bytes;
            0
        }
        Err(text) => {
            desk.output = text.into_bytes();
            1
        }
    }
}

/// Where the answer is; valid until the next call of [`rexmit_run`].
#[allow(unsafe_code, reason = "JavaScript calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn rexmit_output() -> *const u8 {
    desk().output.as_ptr()
}

/// How many bytes the answer has.
#[allow(unsafe_code, reason = "JavaScript calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn rexmit_output_len() -> usize {
    desk().output.len()
}
