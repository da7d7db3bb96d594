//! Copies of the library in memory, one for each host: its code is there once, its variables as often as there are copies.
//!
//! A copy is what the system's loader would make of the file, but that what the library asks of others goes to
//! `hooks.rs`.

use std::cell::RefCell;
use std::io;
use std::ptr;
use std::sync::OnceLock;

use crate::ffi::Calls;
use crate::hooks;

include!(concat!(env!("OUT_DIR"), "/image.rs"));

/// The library's segments at their places, without the zeros at the end.
static IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/image.bin"));

/// A thread keeps so many for the runs to come.
const KEPT: usize = 64;

thread_local! {
    static SPARE: RefCell<Vec<Place>> = const { RefCell::new(Vec::new()) };
}

/// A copy whose variables are as in the file until it is called.
pub(crate) struct Copy {
    place: Option<Place>,
    calls: Box<Calls>,
}

impl Copy {
    /// One as good as new.
    ///
    /// # Errors
    /// The system refuses memory in which code may run.
    pub fn take() -> io::Result<Self> {
        let spare = SPARE.with_borrow_mut(Vec::pop);
        let place = spare.map_or_else(Place::new, Ok)?;
        place.write_variables();
        let mut calls = Box::new(Calls([0; CALLS.len()]));
        for (address, at) in calls.0.iter_mut().zip(CALLS) {
            *address = place.0 as usize + *at as usize;
        }
        Ok(Self { place: Some(place), calls })
    }

    /// The addresses of its functions.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let Some(place) = self.place.take() else { return };
        // When the thread ends, the list of those to keep may be gone before.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < KEPT {
                spare.push(place);
            }
        });
    }
}

/// A part of memory with the library in it.
struct Place(*mut u8);

impl Place {
    fn new() -> io::Result<Self> {
        let file = shared()?;
        // SAFETY: a new part of memory, which nobody else knows; code and variables lie within it.
        unsafe {
            let at = libc::mmap(ptr::null_mut(), SIZE, libc::PROT_READ, libc::MAP_PRIVATE, file, 0);
            if at == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let place = Self(at.cast());
            let (code, variables) = (place.0.add(CODE.start), place.0.add(VARIABLES.start));
            if libc::mprotect(code.cast(), CODE.len(), libc::PROT_READ | libc::PROT_EXEC) != 0
                || libc::mprotect(variables.cast(), VARIABLES.len(), libc::PROT_READ | libc::PROT_WRITE) != 0
            {
                return Err(io::Error::last_os_error());
            }
            Ok(place)
        }
    }

    /// Makes its variables what the file says, and leads what it asks to us.
    fn write_variables(&self) {
        let whole = &IMAGE[VARIABLES.start..];
        let write = |at: u32, value: usize| {
            assert!(
                VARIABLES.contains(&(at as usize)),
                "the library has places to fill in among its variables only"
            );
            // SAFETY: within the variables, which are ours alone; places of pointers are aligned.
            unsafe { self.0.add(at as usize).cast::<usize>().write(value) };
        };
        // SAFETY: as above; the image ends within the variables, and zeros follow it.
        unsafe {
            let variables = self.0.add(VARIABLES.start);
            variables.copy_from_nonoverlapping(whole.as_ptr(), whole.len());
            variables.add(whole.len()).write_bytes(0, VARIABLES.len() - whole.len());
        }
        RELATIVE.iter().for_each(|(at, to)| write(*at, self.0 as usize + *to as usize));
        answers().iter().for_each(|(at, address)| write(*at, *address));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this size, and no copy is in it any more.
        unsafe { libc::munmap(self.0.cast(), SIZE) };
    }
}

/// What answers where the library asks, looked up once.
fn answers() -> &'static [(u32, usize)] {
    static ANSWERS: OnceLock<Vec<(u32, usize)>> = OnceLock::new();
    ANSWERS.get_or_init(|| ASKED.iter().map(|(at, name)| (*at, hooks::answer(name))).collect())
}

/// The library as a file without a name, of which copies share what they do not change.
fn shared() -> io::Result<i32> {
    static FILE: OnceLock<i32> = OnceLock::new();
    if let Some(file) = FILE.get() {
        return Ok(*file);
    }
    // SAFETY: a new file, written through a part of memory that nobody else knows.
    let made = unsafe {
        let file = libc::memfd_create(c"rexmit-lwip".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 || libc::ftruncate(file, SIZE as libc::off_t) != 0 {
            return Err(io::Error::last_os_error());
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::mmap(ptr::null_mut(), SIZE, access, libc::MAP_SHARED, file, 0);
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        at.cast::<u8>().copy_from_nonoverlapping(IMAGE.as_ptr(), IMAGE.len());
        libc::munmap(at, SIZE);
        file
    };
    Ok(*FILE.get_or_init(|| made))
}
