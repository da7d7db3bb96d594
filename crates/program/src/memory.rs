//! The line through memory: calls and answers lie in a file in memory that both sides map, and for each a futex says
//! that one is there.
//!
//! A call over the socket costs two copies by the kernel and its buffers; over this, two wake-ups. rexmit waits without a timer of the
//! kernel's, each of which would cost as much again as a wake-up: a thread of its own sees that a program has ended or hangs.
//!
//! The size of the file is sealed, so that no program can take pages away from rexmit, and what lies in it is copied before it is
//! read, once: whatever a program writes there, it is one frame.

use std::ffi::{OsString, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

/// The variable of a program's environment that names the file.
pub(crate) const VARIABLE: &str = "REXMIT_MEMORY";
/// Where the number of calls, the number of answers, and the areas for one frame of each are.
const CALLS: usize = 0;
const ANSWERS: usize = 64;
const HEAD: usize = 4_096;
/// Bytes of an area. A frame that is longer goes over the socket.
pub(crate) const AREA: usize = 1 << 18;
const SIZE: usize = HEAD + 2 * AREA;
/// What the thread has seen of the program: nothing wrong, its end of the socket closed, no answer in time.
const WELL: u8 = 0;
const GONE: u8 = 1;
const HUNG: u8 = 2;

/// The file, which a program maps if it can.
#[derive(Debug)]
pub(crate) struct Offer(File);

impl Offer {
    /// A new one.
    pub fn new() -> io::Result<Self> {
        let file = memfd_create("rexmit-line", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, SIZE as u64)?;
        fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        Ok(Self(file.into()))
    }

    /// What the program's environment says of it.
    pub fn environment(&self) -> (&'static str, OsString) {
        (VARIABLE, format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into())
    }
}

/// The line of a program that has mapped the file.
#[derive(Debug)]
pub(crate) struct Memory(Arc<Map>);

#[derive(Debug)]
struct Map {
    begin: NonNull<c_void>,
    seen: AtomicU8,
}

// SAFETY: the pages last as long as this, and are reached by atomic numbers and by whole copies.
#[expect(unsafe_code, reason = "a pointer to pages is not a reference")]
unsafe impl Send for Map {}
// SAFETY: as above; the one thread that copies is the owner of the program.
#[expect(unsafe_code, reason = "a pointer to pages is not a reference")]
unsafe impl Sync for Map {}

impl Memory {
    /// Takes up the line, whose program has `patience` for each answer, and closes its end of `line` as it ends.
    pub fn begin(offer: &Offer, line: &UnixStream, patience: Duration) -> io::Result<Self> {
        let map = Arc::new(Map::new(&offer.0)?);
        let (line, shared) = (line.try_clone()?, Arc::clone(&map));
        let watches = move || watch(&line, &shared, patience);
        std::thread::Builder::new().name("answers of a program".into()).spawn(watches)?;
        Ok(Self(map))
    }

    /// Makes a call. False where its frame is too long: it is to be sent over the socket now.
    pub fn call(&self, frame: &[u8]) -> bool {
        let fits = frame.len() <= AREA;
        self.0.put(if fits { frame } else { &[0; 4] });
        self.0.number(CALLS).fetch_add(1, Ordering::Release);
        self.0.wake(CALLS);
        fits
    }

    /// Waits for the answer, and copies its frame into `into`: how many bytes of it are there. `None`: it comes over the socket.
    ///
    /// # Errors
    /// A program that has ended (`UnexpectedEof`), or does not answer in its time, or within `most` (`TimedOut`).
    pub fn answer(&self, into: &mut Vec<u8>, most: Option<Duration>) -> io::Result<Option<usize>> {
        let calls = self.0.number(CALLS).load(Ordering::Relaxed);
        let due = most.map(|most| Instant::now() + most);
        loop {
            let answers = self.0.number(ANSWERS).load(Ordering::Acquire);
            if answers == calls {
                return Ok(self.0.take(into));
            }
            match self.0.seen.load(Ordering::Acquire) {
                GONE => return Err(io::ErrorKind::UnexpectedEof.into()),
                HUNG => return Err(io::ErrorKind::TimedOut.into()),
                _ if due.is_some_and(|due| due < Instant::now()) => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                _ => self.0.wait(answers, most),
            }
        }
    }
}

#[expect(unsafe_code, reason = "pages that two processes share, and futexes, have no safe form")]
impl Map {
    fn new(file: &File) -> io::Result<Self> {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let file = file.as_fd().as_raw_fd();
        // SAFETY: a new mapping at a place of the kernel's choice.
        let begin = unsafe { libc::mmap(ptr::null_mut(), SIZE, rights, libc::MAP_SHARED, file, 0) };
        match NonNull::new(begin).filter(|_| begin != libc::MAP_FAILED) {
            Some(begin) => Ok(Self { begin, seen: AtomicU8::new(WELL) }),
            None => Err(io::Error::last_os_error()),
        }
    }

    /// One of the two numbers.
    fn number(&self, at: usize) -> &AtomicU32 {
        // SAFETY: aligned, in the first page, and never reached in another way.
        unsafe { self.begin.byte_add(at).cast().as_ref() }
    }

    /// Puts a frame into the area of calls.
    fn put(&self, frame: &[u8]) {
        debug_assert!(frame.len() <= AREA);
        // SAFETY: the area holds as many, and the program waits.
        unsafe {
            ptr::copy_nonoverlapping(frame.as_ptr(), self.begin.byte_add(HEAD).cast().as_ptr(), frame.len())
        }
    }

    /// Copies the frame in the area of answers, as far as it lies in it; `None` where there is none.
    fn take(&self, into: &mut Vec<u8>) -> Option<usize> {
        let mut head = [0; 4];
        // SAFETY: as many are in the area.
        let area = unsafe { self.begin.byte_add(HEAD + AREA).cast::<u8>().as_ptr() };
        // SAFETY: as above, each byte once.
        unsafe { ptr::copy_nonoverlapping(area, head.as_mut_ptr(), head.len()) };
        let len = u32::from_le_bytes(head) as usize;
        let inside = len.min(AREA - head.len());
        if into.len() < head.len() + inside {
            into.resize(head.len() + inside, 0);
        }
        into[..head.len()].copy_from_slice(&head);
        // SAFETY: as many are in the area after the head, and in `into`.
        unsafe { ptr::copy_nonoverlapping(area.add(head.len()), into[head.len()..].as_mut_ptr(), inside) };
        (len > 0).then_some(head.len() + inside)
    }

    fn wake(&self, at: usize) {
        let word = self.number(at).as_ptr();
        // SAFETY: a word of ours; it wakes only those that wait for it.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, 1) };
    }

    /// Waits while there are this many answers, and perhaps less long.
    fn wait(&self, answers: u32, most: Option<Duration>) {
        let most = most.map(|most| libc::timespec {
            tv_sec: most.as_secs() as libc::time_t,
            tv_nsec: most.subsec_nanos().into(),
        });
        let most = most.as_ref().map_or(ptr::null(), ptr::from_ref);
        let word = self.number(ANSWERS).as_ptr();
        // SAFETY: a word of ours, and a time or none.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, answers, most) };
    }
}

#[expect(unsafe_code, reason = "as above")]
impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody has it any more.
        unsafe { libc::munmap(self.begin.as_ptr(), SIZE) };
    }
}

/// Wakes whoever waits for an answer that will not come, until nobody can wait any more.
#[expect(unsafe_code, reason = "a wait for the other side of a socket, without reading, has no safe form")]
fn watch(line: &UnixStream, map: &Arc<Map>, patience: Duration) {
    let tick = (patience / 4).clamp(Duration::from_millis(5), Duration::from_millis(2_500));
    let mut last = (map.number(CALLS).load(Ordering::Relaxed), Instant::now());
    while Arc::strong_count(map) > 1 {
        let mut waited = libc::pollfd { fd: line.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
        // SAFETY: one structure, which is there.
        unsafe { libc::poll(&raw mut waited, 1, tick.as_millis() as i32) };
        let calls = map.number(CALLS).load(Ordering::Relaxed);
        if calls != last.0 || calls == map.number(ANSWERS).load(Ordering::Relaxed) {
            last = (calls, Instant::now());
        }
        let seen = match waited.revents {
            0 if last.1.elapsed() <= patience => continue,
            0 => HUNG,
            _ => GONE,
        };
        map.seen.store(seen, Ordering::Release);
        // Whoever was about to wait has not seen it yet.
        while Arc::strong_count(map) > 1 {
            map.wake(ANSWERS);
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(40);

    /// A line, and the other side of both the memory and the socket.
    fn line() -> (Memory, Map, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let offer = Offer::new().unwrap();
        let program = Map::new(&offer.0).unwrap();
        (Memory::begin(&offer, &ours, PATIENCE).unwrap(), program, theirs)
    }

    /// What a program does: it answers with this frame.
    fn answer(program: &Map, frame: &[u8]) {
        // Its area is the second one.
        let whole = [&[0; AREA], frame].concat();
        #[expect(unsafe_code, reason = "the far side of the pages")]
        // SAFETY: both areas hold as many.
        unsafe {
            ptr::copy_nonoverlapping(
                whole.as_ptr(),
                program.begin.byte_add(HEAD).cast().as_ptr(),
                whole.len(),
            );
        }
        program.number(ANSWERS).fetch_add(1, Ordering::Release);
        program.wake(ANSWERS);
    }

    #[test]
    fn an_answer_comes_whole_or_is_said_to_come_over_the_socket() {
        let (memory, program, _line) = line();
        let mut read = Vec::new();
        std::thread::scope(|scope| {
            assert!(memory.call(&[1, 0, 0, 0, 7]));
            scope.spawn(|| answer(&program, &[2, 0, 0, 0, 135, 9]));
            assert_eq!(memory.answer(&mut read, None).unwrap(), Some(6));
        });
        assert_eq!(read[..6], [2, 0, 0, 0, 135, 9]);
        assert!(memory.call(&[0; AREA]), "the longest");
        answer(&program, &[0; 4]);
        assert_eq!(memory.answer(&mut read, None).unwrap(), None);
        assert!(!memory.call(&[0; AREA + 1]), "over the socket");
    }

    #[test]
    fn a_frame_that_says_it_is_longer_than_its_area_is_read_no_further() {
        let (memory, program, _line) = line();
        memory.call(&[1, 0, 0, 0, 7]);
        answer(&program, &[0xff; 4]);
        let mut read = Vec::new();
        assert_eq!(memory.answer(&mut read, None).unwrap(), Some(AREA));
        assert_eq!(read.len(), AREA);
    }

    #[test]
    fn one_that_ends_or_hangs_is_noticed() {
        let (memory, _program, theirs) = line();
        memory.call(&[1, 0, 0, 0, 7]);
        let hung = memory.answer(&mut Vec::new(), None).unwrap_err();
        assert_eq!(hung.kind(), io::ErrorKind::TimedOut);
        drop((memory, theirs));

        let (memory, _program, theirs) = line();
        memory.call(&[1, 0, 0, 0, 7]);
        drop(theirs);
        let gone = memory.answer(&mut Vec::new(), None).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn its_size_is_sealed() {
        let offer = Offer::new().unwrap();
        assert!(offer.0.set_len(0).is_err());
        assert!(offer.0.set_len(2 * SIZE as u64).is_err());
    }
}
