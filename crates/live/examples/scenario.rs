//! Runs one scenario (a JSON file) on this machine's kernel and prints its row: `cargo run --example scenario FILE`.
use rexmit_live::{LiveOptions, Stock, run};
use rexmit_scenario::{Resolved, Streams};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("name a scenario file (JSON)")?;
    let resolved = Resolved::from_value(serde_json::from_str(&std::fs::read_to_string(file)?)?)?;
    let outcome =
        run(&resolved, &Streams::new(1, ""), &LiveOptions::default(), &mut Stock::default(), &mut |_| {})?;
    println!("{:#?}\n{:?}", outcome.row, outcome.lateness);
    Ok(())
}
