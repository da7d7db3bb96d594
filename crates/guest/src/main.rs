//! The first process of a guest with a virtual clock: `rexmit-guest`, with what it is to do in its environment.
//!
//! `REXMIT_JOB` is the file of the job. `REXMIT_DOES` is `runs`, to answer on the console (see [`rexmit_live::agent`]), or
//! `emulate`. The guest ends with it. A program rather than a script with a module: it is started with every guest.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use rexmit_live::{agent, emulate, guest, programs};
use rexmit_scenario::{VerdictRow, tables};
use serde_json::{Map, Value};

fn main() {
    // On the console, for want of a better place: whoever started the guest reads it.
    if let Err(e) = serve() {
        println!("agent: {e}");
    }
    if let Err(e) = guest::power_off() {
        println!("agent: {e}");
    }
}

fn serve() -> io::Result<()> {
    let job = std::env::var_os("REXMIT_JOB").unwrap_or_default();
    let job = Path::new(&job);
    if std::env::var_os("REXMIT_DOES") == Some(OsString::from("emulate")) {
        return emulate::serve_in_guest(job, &verdicts);
    }
    guest::prepare()?;
    agent::serve(job, &mut io::stdout().lock(), Some(programs::begin_in_guest))
}

/// A table of verdicts, by columns.
fn verdicts(rows: &[VerdictRow]) -> Value {
    let columns = tables::verdicts(rows).columns;
    Value::Object(
        columns.iter().map(|column| (column.name.clone(), column.values().into())).collect::<Map<_, _>>(),
    )
}
