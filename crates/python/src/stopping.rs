//! Long work that a signal ends: it is done in another thread while this one looks for signals.
//!
//! Python runs the handlers of signals in its main thread, and only between two of its own steps: a call that comes back
//! after a minute would heed Ctrl-C after a minute.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use rexmit_sim::Stop;

/// Time between two looks for signals.
pub const LOOK: Duration = Duration::from_millis(50);

/// Does `work`, which looks at its [`Stop`] itself. It is asked to stop once `stopped` (a callable without arguments) says
/// so, and what it then gives is returned; and where a signal's handler raises, which is then what this raises.
pub fn stoppable<T: Send>(
    py: Python<'_>,
    stopped: Option<Py<PyAny>>,
    work: impl FnOnce(&Stop) -> T + Send,
) -> PyResult<T> {
    let stop = Stop::default();
    py.detach(|| {
        thread::scope(|scope| {
            let (answer, answers) = channel();
            let stop = &stop;
            // Nobody hears it where a handler has raised meanwhile.
            let worker = scope.spawn(move || drop(answer.send(work(stop))));
            match wait(&answers, || look(stop, stopped.as_ref()))? {
                Some(found) => Ok(found),
                None => match worker.join() {
                    Err(panic) => resume_unwind(panic),
                    Ok(()) => Err(interrupted()),
                },
            }
        })
    })
}

/// Does `work`, which cannot be asked to stop. Where a signal's handler raises, or `stopped` says so, this raises at once,
/// and the work goes on for nobody until it, or the process, ends.
pub fn forsakable<T: Send + 'static>(
    py: Python<'_>,
    stopped: Option<Py<PyAny>>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    py.detach(|| {
        let (answer, answers) = channel();
        let worker = thread::spawn(move || drop(answer.send(work())));
        let look = || {
            Python::attach(|py| {
                py.check_signals()?;
                if asked(py, stopped.as_ref())? { Err(interrupted()) } else { Ok(()) }
            })
        };
        match wait(&answers, look)? {
            Some(found) => Ok(found),
            None => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => Err(interrupted()),
            },
        }
    })
}

/// What a call that was stopped raises.
pub fn interrupted() -> PyErr {
    PyKeyboardInterrupt::new_err(())
}

/// The answer; `None` where whoever should give it has ended without doing so.
fn wait<T>(answers: &Receiver<T>, look: impl Fn() -> PyResult<()>) -> PyResult<Option<T>> {
    loop {
        match answers.recv_timeout(LOOK) {
            Ok(found) => return Ok(Some(found)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => look()?,
        }
    }
}

/// Looks for signals. `stop` is asked once `stopped()` says so, and where a signal's handler raises, which is then what this
/// raises.
pub fn look(stop: &Stop, stopped: Option<&Py<PyAny>>) -> PyResult<()> {
    let heard = Python::attach(|py| {
        py.check_signals()?;
        asked(py, stopped)
    });
    if !matches!(heard, Ok(false)) {
        stop.ask();
    }
    heard.map(drop)
}

/// Whether `stopped()`, if there is such a callable, says so.
fn asked(py: Python<'_>, stopped: Option<&Py<PyAny>>) -> PyResult<bool> {
    stopped.map_or(Ok(false), |stopped| stopped.call0(py)?.is_truthy(py))
}
