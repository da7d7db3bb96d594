//! One run of the model.

use std::cell::RefCell;
use std::rc::Rc;

use rexmit_network::two_hosts::SERVER;
use rexmit_sim::{Registry, Resolved, RunOptions, Sampling, StackFactory, Streams, run, run_observed};

use crate::request::{Request, Wanted};
use crate::seen::{Interface, Seen};
use crate::tables::block_of;

/// The stacks of a page.
static MODELS: &[&dyn StackFactory] = &[&rexmit_tcp::TcpModel, &rexmit_sctp::SctpModel];

/// What answers a [`Request`] in JSON.
///
/// # Errors
/// One line: what is not a request, a wrong setting with its key, or a block that is wanted of no connection of TCP.
pub fn answer(request: &[u8]) -> Result<Vec<u8>, String> {
    let request: Request =
        serde_json::from_slice(request).map_err(|error| format!("the request: {error}"))?;
    let resolved =
        Resolved::with_stacks(request.scenario, Registry::new(MODELS)).map_err(|e| e.to_string())?;
    let streams = Streams::new(request.seed, &request.run_key);
    match request.wanted {
        Wanted::Captures => captures(&resolved, &streams),
        Wanted::Block => block(&resolved, &streams),
    }
}

fn captures(resolved: &Resolved, streams: &Streams) -> Result<Vec<u8>, String> {
    let options = RunOptions { captures: true, ..RunOptions::default() };
    let outcome = run(resolved, streams, &options).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    for capture in outcome.captures.values() {
        out.extend(
            u32::try_from(capture.len()).map_err(|_| "a capture is too long".to_owned())?.to_le_bytes(),
        );
        out.extend(capture);
    }
    Ok(out)
}

fn block(resolved: &Resolved, streams: &Streams) -> Result<Vec<u8>, String> {
    if resolved.protocol() != "tcp" || resolved.links.is_some() || resolved.transfers.len() != 1 {
        return Err("a block is drawn of one transfer of TCP between a server and a client".to_owned());
    }
    let options = RunOptions {
        verdicts: true,
        transmissions: true,
        state: Some(Sampling::Changes),
        ..RunOptions::default()
    };
    let seen = Rc::new(RefCell::new(Vec::<Seen>::new()));
    let observer = Box::new(Interface::new(seen.clone(), resolved.address(SERVER)));
    let outcome =
        run_observed(resolved, streams, &options, Some(observer)).map_err(|error| error.to_string())?;
    block_of(&outcome, &seen.borrow())
}
