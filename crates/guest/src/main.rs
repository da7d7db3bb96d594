//! The first process of a guest with a virtual clock: `rexmit-guest`, with what it is to do in its environment.
//!
//! `REXMIT_JOB` is the file of the job. `REXMIT_DOES` is `runs`, to answer on the console (see [`rexmit_live::agent`]), or
//! `emulate`. The guest ends with it. A program rather than a script with a module: it is started with every guest.
//!
//! On the machine, `rexmit-guest FILE` starts guests one after another: each line of the file is a command, as a list in JSON.
//! A guest's kernel leaves the session that it was started in, so whoever kills that would miss it; it is killed with this
//! process instead.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rexmit_live::sys::process::{Place, spawn};
use rexmit_live::{agent, emulate, guest, programs};
use rexmit_network::Network;
use rexmit_scenario::{VerdictRow, tables};
use serde_json::{Map, Value};

fn main() -> ExitCode {
    if let Some(file) = std::env::args_os().nth(1).filter(|_| std::process::id() != 1) {
        return match follow(Path::new(&file)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                println!("guests: {e}");
                ExitCode::FAILURE
            }
        };
    }
    // On the console, for want of a better place: whoever started the guest reads it.
    if let Err(e) = serve() {
        println!("agent: error: {e}");
    }
    if let Err(e) = guest::power_off() {
        println!("agent: error: {e}");
    }
    ExitCode::FAILURE
}

/// Starts the guests of a file, each when the one before has ended.
fn follow(file: &Path) -> io::Result<()> {
    for line in fs::read_to_string(file)?.lines() {
        let words: Vec<String> = serde_json::from_str(line)?;
        let Some((program, rest)) = words.split_first() else { continue };
        let mut command = Command::new(program);
        command.args(rest).stdin(Stdio::null());
        // What came of it the answers say.
        spawn(&mut command, &Place::default())?.wait()?;
    }
    Ok(())
}

fn serve() -> io::Result<()> {
    let job = std::env::var_os("REXMIT_JOB").unwrap_or_default();
    let job = Path::new(&job);
    if std::env::var_os("REXMIT_DOES") == Some(OsString::from("emulate")) {
        return emulate::serve_in_guest(job, &verdicts);
    }
    guest::prepare()?;
    // The file is the machine's, so it outlives a guest that is made to boot again.
    let begun = job.with_extension("begun");
    rexmit_files::create_private(&begun).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => io::Error::other("a program has rebooted the guest"),
        _ => e,
    })?;
    agent::serve(job, &mut io::stdout().lock(), Some(programs::begin_in_guest))
}

/// A table of verdicts, by columns.
fn verdicts(rows: &[VerdictRow], of: &Network) -> Value {
    let columns = tables::verdicts(rows, of).columns;
    Value::Object(
        columns.iter().map(|column| (column.name.clone(), column.values().into())).collect::<Map<_, _>>(),
    )
}
