//! How late messages are: the scenario's log, fed from real sockets.

use rexmit_scenario::{Message, MessageLog, MessageRow};
use rexmit_traffic::App;

use crate::ends::End;

/// The messages of a run under way.
#[derive(Debug)]
pub(crate) struct Post {
    log: MessageLog,
    /// By connection, the number of the one that sends; `None` with requests.
    senders: Vec<Option<usize>>,
}

impl Post {
    /// Of a run with these connections, each with its two ends by host; with `all`, every message is kept.
    pub fn new(ends: &mut [[End; 2]], all: bool) -> Self {
        let mut log = MessageLog::new(all);
        let mut senders = Vec::with_capacity(ends.len());
        for (connection, pair) in ends.iter_mut().enumerate() {
            let sender = pair.iter().position(|end| matches!(end.app, App::Sender(_)));
            senders.push(sender.map(|host| log.sender(connection as u32, host)));
            pair.iter_mut().for_each(|end| end.app.keep_journal());
        }
        Self { log, senders }
    }

    /// After something happened to a connection.
    pub fn look(&mut self, connection: usize, pair: &mut [End; 2]) {
        let Some(sender) = self.senders[connection] else { return };
        for end in pair {
            for write in end.app.written() {
                self.log.wrote(sender, &write);
            }
            for read in end.app.read() {
                self.log.read(sender, &read);
            }
        }
    }

    /// The rows and every message that was to be kept, once the run is over.
    pub fn finish(self) -> (Vec<MessageRow>, Vec<Message>) {
        self.log.finish()
    }
}
