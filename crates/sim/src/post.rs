//! How late messages are: the scenario's log, fed from a world.

use rexmit_scenario::{Message, MessageLog, MessageRow};
use rexmit_traffic::App;

use crate::world::End;

/// The messages of a run under way.
pub(crate) struct Post {
    log: MessageLog,
    /// By number of an end: the sender that it is, or that it reads from.
    senders: Vec<Option<usize>>,
}

impl Post {
    /// Of a run with these ends, of whose connections the client's stand before the server's; with `all`, every
    /// message is kept.
    pub fn new(ends: &mut [End], all: bool) -> Self {
        let mut log = MessageLog::new(all);
        let mut senders = vec![None; ends.len()];
        for (n, end) in ends.iter_mut().enumerate() {
            if matches!(end.app, App::Sender(_)) {
                let sender = log.sender((n / 2) as u32, 1 - n % 2);
                (senders[n], senders[n ^ 1]) = (Some(sender), Some(sender));
            }
            end.app.keep_journal();
        }
        Self { log, senders }
    }

    /// After something happened to an end.
    #[inline]
    pub fn look(&mut self, index: usize, end: &mut End) {
        let Some(sender) = self.senders[index] else { return };
        for write in end.app.written() {
            self.log.wrote(sender, &write);
        }
        for read in end.app.read() {
            self.log.read(sender, &read);
        }
    }

    /// The rows and every message that was to be kept, once the run is over.
    pub fn finish(self) -> (Vec<MessageRow>, Vec<Message>) {
        self.log.finish()
    }
}
