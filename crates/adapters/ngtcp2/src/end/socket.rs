//! The application's side of an end: its streams.

use rexmit_stack::{Delivery, Event, Role, Socket};
use rexmit_units::{Duration, Instant};

use super::Ngtcp2End;
use crate::connection::Connection;
use crate::hooks::{self, Talk};

impl Ngtcp2End {
    /// Opens streams up to this number, as far as the peer allows; true if it is there.
    fn has_stream(&mut self, now: Instant, number: u16) -> bool {
        let opened = |end: &mut Self| {
            let connection = end.connection.as_mut()?;
            while hooks::with(|talk| talk.sending.len())? <= number.into() {
                let id = connection.open_stream()?;
                hooks::with(|talk| talk.sending.open(id));
            }
            Some(())
        };
        self.with(now, opened).is_some()
    }

    /// How much more the application may write.
    pub(super) fn room(&self) -> u64 {
        let kept = |talk: &Talk| talk.sending.kept() + talk.datagrams.size();
        self.talk.as_ref().map_or(0, |talk| self.send_window.saturating_sub(kept(talk)))
    }

    /// Ends its streams once the application has closed and its datagrams have left.
    pub(super) fn finish_streams(&mut self, now: Instant) {
        if !self.told.connected || self.datagrams_wait() > 0 || !self.has_stream(now, 0) {
            return;
        }
        self.writer.close();
        let Some(talk) = &mut self.talk else { return };
        for number in 0..talk.sending.len() {
            talk.sending.finish(number);
            self.told.unfinished += 1;
        }
        self.called = true;
    }

    /// Bytes of datagrams that have not left.
    fn datagrams_wait(&self) -> u64 {
        self.talk.as_ref().map_or(0, |talk| talk.datagrams.size())
    }

    /// Writes a datagram, whole or, while those before it wait, not at all.
    fn send_datagram(&mut self, now: Instant, len: u64) -> u64 {
        let most = self.connection.as_ref().and_then(Connection::most_datagram);
        let refused = match most {
            None => "the peer takes no datagrams (RFC 9221 section 3)".to_string(),
            Some(_) if self.datagrams_wait() > 0 && self.room() < len => {
                self.told.short = true;
                return 0;
            }
            Some(_) => match (self.writer.next_datagram(len, most), &mut self.talk) {
                (Ok(bytes), Some(talk)) => {
                    talk.datagrams.push(bytes);
                    self.writer.wrote(0, len);
                    (self.called, self.now) = (true, now);
                    return len;
                }
                (Ok(_), None) => return 0,
                (Err(why), _) => why,
            },
        };
        let at = Duration::from_nanos(now.as_nanos());
        self.failure.get_or_insert(format!("stack ngtcp2 of {}, datagram at {at}: {refused}", self.host));
        self.abort(now);
        0
    }

    /// Some datagrams may have left: there is room for others, or all that the application has written has left.
    pub(super) fn settle_datagrams(&mut self, now: Instant) {
        if !self.of_datagrams || self.told.closed {
            return;
        }
        if self.room() > 0 && std::mem::take(&mut self.told.short) {
            self.events.push_back(Event::Writable);
        }
        if self.told.closing && self.talk.as_ref().is_some_and(|talk| talk.sending.len() == 0) {
            self.finish_streams(now);
        }
    }

    /// The server has not taken what was sent before the handshake was complete.
    pub(super) fn begin_again(&mut self, now: Instant) {
        self.with(now, |end| {
            let Some(connection) = &mut end.connection else { return };
            // Streams are opened before their bytes are looked for.
            let ids: Vec<_> = (0..hooks::with(|talk| talk.sending.len()).unwrap_or(0))
                .map(|_| connection.open_stream())
                .collect();
            let mut ids = ids.into_iter();
            hooks::with(|talk| talk.sending.begin_again(|| ids.next().flatten()));
        });
        self.called = true;
    }

    /// Takes leave of streams that are over and have been read.
    pub(super) fn end_streams(&mut self) {
        while let Some(id) = self.talk.as_mut().and_then(|talk| talk.arriving.take_over()) {
            self.consumed(id, 0, true);
            self.reader.finish();
        }
        if !self.told.end && self.reader.is_over() {
            self.told.end = true;
            self.events.push_back(Event::EndOfStream);
            self.called = true;
        }
    }

    /// The application has read so much.
    fn consumed(&mut self, id: i64, len: u64, over: bool) {
        if self.farewell.over {
            return;
        }
        self.with(self.now, |end| {
            if let Some(connection) = &mut end.connection {
                connection.consumed(id, len, over);
            }
        });
        self.take_failure();
        self.called = true;
    }
}

impl Socket for Ngtcp2End {
    fn connect(&mut self, now: Instant) {
        if self.role != Role::Active || self.connection.is_some() || self.told.closed {
            return;
        }
        self.make(now, None);
        let early = self.with(now, |end| {
            let inner = end.connection.as_ref().map(Connection::inner)?;
            hooks::handshake(|handshake| handshake.prepare(inner))?.ok()
        });
        match early {
            Some(true) => self.connected(now),
            Some(false) => {}
            None => self.failure = Some("ngtcp2 cannot connect".to_string()),
        }
        (self.called, self.now) = (true, now);
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        self.send(now, len, Delivery::default())
    }

    fn send(&mut self, now: Instant, len: u64, how: Delivery) -> u64 {
        if !self.told.connected || self.told.closing || self.told.closed || self.farewell.over {
            return 0;
        }
        if how.datagram {
            return self.send_datagram(now, len);
        }
        if !self.has_stream(now, how.stream) {
            self.told.short = true;
            return 0;
        }
        let takes = len.min(self.room());
        let Some(talk) = &mut self.talk else { return 0 };
        let mut taken = 0;
        while taken < takes {
            let bytes = self.writer.next(takes - taken);
            let wrote = bytes.len() as u64;
            talk.sending.write(how.stream.into(), bytes);
            self.writer.wrote(how.stream, wrote);
            taken += wrote;
        }
        self.told.short |= taken < len;
        (self.called, self.now) = (self.called || taken > 0, now);
        taken
    }

    fn read_offset(&self) -> Option<u64> {
        let datagram = self.talk.as_ref().and_then(|talk| talk.datagrams.inbox.last());
        datagram.or(self.reader.last())
    }

    fn read(&mut self, now: Instant, max: u64) -> u64 {
        self.now = now;
        self.reader.begin();
        let Some(talk) = &mut self.talk else { return 0 };
        let mut read = talk.datagrams.inbox.read(max);
        if let Some(stream) = talk.arriving.first().filter(|_| read == 0) {
            let (id, number) = (stream.id, (stream.id / 4) as u16);
            let unread = stream.unread();
            let most = max.min(self.reader.most(number)).min(unread.len() as u64) as usize;
            self.reader.read(number, &unread[..most]);
            talk.arriving.read(id, most);
            read = most as u64;
            self.consumed(id, read, false);
        }
        self.end_streams();
        if read > 0 && self.readable() > 0 {
            self.events.push_back(Event::Readable);
        }
        read
    }

    fn readable(&self) -> u64 {
        let waits = |talk: &Talk| talk.arriving.unread() + talk.datagrams.inbox.readable();
        self.talk.as_ref().map_or(0, |talk| waits(talk))
    }

    fn close(&mut self, now: Instant) {
        if std::mem::replace(&mut self.told.closing, true) {
            return;
        }
        if self.connection.is_none() {
            self.told.closed = true;
            self.events.push_back(Event::Closed);
            return;
        }
        self.finish_streams(now);
        (self.called, self.now) = (true, now);
    }

    fn abort(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.told.closed, true) {
            self.events.push_back(Event::Closed);
        }
        self.shut(now, Ok(1));
        (self.called, self.now) = (true, now);
    }
}
