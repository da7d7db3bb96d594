//! How programs are started, and those that the process keeps between its runs.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::error::ProgramError;
use crate::lead::{self, Key};
use crate::packaged;
use crate::process::Program;
use crate::seat::{self, Seat};

/// How a program is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What messages call it.
    pub name: String,
    /// The program and the words that follow.
    pub words: Vec<String>,
    /// The folder that it begins in.
    pub folder: PathBuf,
    /// How long it has for an answer.
    pub patience: Duration,
    /// How long nothing happens before each call, so that a program shows that it reads a clock.
    pub pause: Duration,
    /// Whether its clock and random numbers are the run's.
    pub lead: bool,
}

/// How programs are started and where built ones are, once that is allowed. Whoever never allows it has no code that
/// starts processes: the library that a guest's own kernel loads links this crate too, and must not have it.
static MEANS: OnceLock<Means> = OnceLock::new();

struct Means {
    start: fn(&Command, Option<Key>) -> Result<Program, ProgramError>,
    hindrance: fn(&[String], &Path) -> Option<String>,
    cache: fn() -> Option<PathBuf>,
    seat: fn() -> Option<Rc<Seat>>,
}

/// Allows that this process starts programs.
pub fn allow() {
    MEANS.get_or_init(|| Means {
        start,
        hindrance: lead::hindrance,
        cache: packaged::cache,
        seat: seat::take,
    });
}

/// The processor of this thread's run and its programs.
pub(crate) fn seat() -> Option<Rc<Seat>> {
    (MEANS.get()?.seat)()
}

/// Why the clock of a program cannot be led, as far as its file tells.
pub(crate) fn hindrance(command: &Command) -> Option<String> {
    (MEANS.get()?.hindrance)(&command.words, &command.folder)
}

/// The user's folder of what rexmit builds, if programs are allowed.
pub(crate) fn cache() -> Option<PathBuf> {
    (MEANS.get()?.cache)()
}

/// Programs that no run of this process has now. They end with the process.
static IDLE: Mutex<Vec<Program>> = Mutex::new(Vec::new());

/// A wish for a program, and where it goes.
type Wish = (Command, Option<Key>, Sender<Result<Program, ProgramError>>);

/// The thread that starts programs, and the process that it is of: one that was forked has none.
static STARTER: Mutex<Option<(u32, Sender<Wish>)>> = Mutex::new(None);

/// A program that has served an earlier run, if there is one.
pub(crate) fn kept(command: &Command) -> Option<Program> {
    let here = std::process::id();
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let fits = |program: &Program| program.command() == command && program.started_by() == here;
    while let Some(place) = idle.iter().position(fits) {
        let program = idle.swap_remove(place);
        if program.lives() {
            return Some(program);
        }
    }
    None
}

/// A new program, with the key of its random numbers where it is led.
pub(crate) fn begin(command: &Command, lead: Option<Key>) -> Result<Program, ProgramError> {
    MEANS.get().map_or_else(|| Err(lost()), |means| (means.start)(command, lead))
}

/// Keeps a program for later runs.
pub(crate) fn put(program: Program) {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(program);
}

/// A new program. It ends with the thread that starts it, so all are started by a thread that lasts as long as the
/// process.
fn start(command: &Command, lead: Option<Key>) -> Result<Program, ProgramError> {
    let here = std::process::id();
    let (to, from) = mpsc::channel();
    let mut starter = STARTER.lock().unwrap_or_else(PoisonError::into_inner);
    if starter.as_ref().is_none_or(|(process, _)| *process != here) {
        let (wishes, wished) = mpsc::channel::<Wish>();
        let serve = move || {
            for (command, lead, to) in wished {
                // Whoever asked may be gone.
                let _ = to.send(Program::start(command, lead));
            }
        };
        std::thread::Builder::new().name("programs".into()).spawn(serve).map_err(ProgramError::Start)?;
        *starter = Some((here, wishes));
    }
    let sent = starter.as_ref().map(|(_, wishes)| wishes.send((command.clone(), lead, to)).is_ok());
    drop(starter);
    sent.filter(|sent| *sent).ok_or_else(lost)?;
    from.recv().map_err(|_| lost())?
}

fn lost() -> ProgramError {
    ProgramError::Start(io::Error::other("nobody here starts programs"))
}
