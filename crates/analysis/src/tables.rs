//! Rows as columns, for other languages and for files.
//!
//! Each column is written in one place, with its name, its meaning and how it comes from a row; its type follows
//! from the value.

mod connections;
mod names;
mod pair;
mod sctp;
mod tcp;

use rexmit_tables::table;

use crate::pair::PairRows;
use crate::rows::Rows;

pub use connections::Tally;
pub use rexmit_tables::{Column, Table};

/// Turns rows into tables; remembers what a connection's row has to say of rows that came before it.
#[derive(Debug, Default)]
pub struct Tables {
    tally: Tally,
}

impl Tables {
    /// No rows so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// The rows as tables; a table without rows has its columns all the same.
    pub fn take(&mut self, rows: &Rows) -> Vec<Table> {
        self.tally.count(&rows.retransmissions);
        let connections = self.tally.join(&rows.connections);
        vec![
            table("connections", &connections, connections::columns),
            table("segments", &rows.segments, tcp::segments),
            table("sacks", &rows.sacks, tcp::sacks),
            table("retransmissions", &rows.retransmissions, tcp::retransmissions),
            table("rtt", &rows.rtt, tcp::rtt),
            table("loss_events", &rows.loss_events, tcp::loss_events),
            table("held", &rows.held, tcp::held),
            table("associations", &rows.sctp.associations, sctp::associations),
            table("paths", &rows.sctp.paths, sctp::paths),
            table("streams", &rows.sctp.streams, sctp::streams),
            table("chunks", &rows.sctp.chunks, sctp::chunks),
            table("sctp_sacks", &rows.sctp.sacks, sctp::sacks),
            table("sctp_retransmissions", &rows.sctp.retransmissions, sctp::retransmissions),
            table("sctp_controls", &rows.sctp.controls, sctp::controls),
            table("sctp_rtt", &rows.sctp.rtt, sctp::rtt),
        ]
    }
}

/// What two captures of the same flows give, as tables.
pub fn pair_tables(rows: &PairRows) -> Vec<Table> {
    vec![
        table("pairs", &rows.summaries, pair::pairs),
        table("pair_retransmissions", &rows.retransmissions, pair::retransmissions),
        table("crossings", &rows.crossings, pair::crossings),
    ]
}

#[cfg(test)]
mod tests;
