//! A host whose stack is a program, and what its ends have in common.

use std::rc::Rc;

use rexmit_units::{Duration, Instant};

use crate::about::About;
use crate::error::ProgramError;
use crate::frame::{Answer, Call};
use crate::lead::Key;
use crate::pool::{self, Command};
use crate::process::Program;
use crate::seat::Seat;

/// A host of a run.
#[derive(Debug)]
pub(crate) struct Host {
    /// Absent once it has failed.
    program: Option<Program>,
    about: About,
    command: Command,
    name: String,
    pub mtu: u32,
    failure: Option<String>,
    /// The processor that they keep to while the run lasts.
    #[expect(dead_code, reason = "held, and left with it")]
    seat: Option<Rc<Seat>>,
}

/// What the program of a host is told as a run begins.
#[derive(Clone, Debug)]
pub(crate) struct Begin {
    pub name: String,
    pub mtu: u32,
    pub protocol: &'static str,
    pub seed: [u8; 32],
    /// What the random numbers that it draws from the system come from, where it is led.
    pub lead: Option<Key>,
    pub settings: String,
}

impl Host {
    /// Makes the host of a run with a program that has served an earlier one, or a new one. One that does not begin has
    /// failed, as it may later.
    pub fn begin(command: &Command, begin: &Begin) -> Self {
        let seat = pool::seat();
        let begun = greet(command, begin, seat.as_deref());
        let mut host = Self {
            program: None,
            about: About::default(),
            command: command.clone(),
            name: begin.name.clone(),
            mtu: begin.mtu,
            failure: None,
            seat,
        };
        match begun {
            Ok((program, about)) => (host.program, host.about) = (Some(program), about),
            Err(error) => host.failure = Some(told(command, &begin.name, "HELLO", Instant::ZERO, &error)),
        }
        host
    }

    /// What its program says of itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Calls of the application's that follow another one go with that. Where real time passes before each call, each is made.
    pub fn follows_up(&self) -> bool {
        self.about.follows_up && self.command.pause.is_zero()
    }

    /// Asks the program; `None` if it has failed, now or before.
    pub fn ask(&mut self, call: &Call<'_>, now: Instant, end: u32) -> Option<Answer> {
        match self.program.as_mut()?.ask(call, now.as_nanos(), end) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.fail(call, now, &error);
                None
            }
        }
    }

    /// What it answered to a call is impossible.
    pub fn fail(&mut self, call: &Call<'_>, now: Instant, error: &ProgramError) {
        self.failure.get_or_insert_with(|| told(&self.command, &self.name, call.name(), now, error));
        // Ended here: nothing of it counts any more.
        self.program = None;
    }

    /// What broke it off.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(mut program) = self.program.take()
            && program.bye()
            && self.about.forgets
            && !self.command.lead
        {
            pool::put(program);
        }
    }
}

/// A program that knows of the run.
fn greet(command: &Command, begin: &Begin, seat: Option<&Seat>) -> Result<(Program, About), ProgramError> {
    let hello = |mut program: Program| {
        if let Some(seat) = seat {
            program.sit(seat);
        }
        let about = program.hello(&begin.seed, &begin.settings, begin.protocol)?;
        Ok((program, about))
    };
    // A led one is never kept: its clock would go back, and what it has drawn before would depend on its earlier runs.
    // One that was kept may have ended, or have served its time.
    match pool::kept(command).map(hello) {
        Some(Ok(found)) => Ok(found),
        Some(Err(_)) | None => pool::begin(command, begin.lead).and_then(hello),
    }
}

/// The one line that names the stack, the call and what came.
fn told(command: &Command, host: &str, call: &str, now: Instant, error: &ProgramError) -> String {
    let name = &command.name;
    let at = Duration::from_nanos(now.as_nanos());
    format!("stack {name} of {host}, call {call} at {at}: {error}")
}
