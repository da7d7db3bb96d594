//! The application's side of an end: its streams.

use quinn_proto::{Dir, StreamId};
use rexmit_stack::{Delivery, Event, Socket};
use rexmit_units::Instant;

use super::{QuinnEnd, real_time};

impl QuinnEnd {
    /// The stream of this number, opened with those before it where it is new; `None` while the peer allows no more.
    fn own_stream(&mut self, number: u16) -> Option<StreamId> {
        let (_, connection) = self.connection.as_mut()?;
        while self.own.len() <= number.into() {
            self.own.push(connection.streams().open(Dir::Uni)?);
        }
        self.own.get(usize::from(number)).copied()
    }

    /// Ends its streams once the application has closed and its datagrams have left.
    pub(super) fn finish_streams(&mut self) {
        let early = !self.told.connected || self.datagrams_wait();
        if early || self.own.is_empty() && self.own_stream(0).is_none() {
            return;
        }
        self.writer.close();
        let Some((_, connection)) = &mut self.connection else { return };
        for id in &self.own {
            if connection.send_stream(*id).finish().is_ok() {
                self.told.unfinished += 1;
            }
        }
    }

    /// Bytes of a stream that wait for a read.
    fn waits_of(&self, id: StreamId) -> u64 {
        let arrived = self.work.as_ref().map_or(0, |work| work.packets.arrived_of(id.into()).0);
        arrived.saturating_sub(self.reader.offset(id.index() as u16))
    }

    /// Takes leave of streams that are over and have been read.
    pub(super) fn end_streams(&mut self) {
        let over = |end: &Self, id: StreamId| {
            end.work.as_ref().is_some_and(|work| work.packets.arrived_of(id.into()).1)
                && end.waits_of(id) == 0
        };
        while let Some(place) = self.open.iter().position(|id| over(self, *id)) {
            let Some(id) = self.open.remove(place) else { break };
            self.read_stream(id, u64::MAX);
            self.reader.finish();
        }
        if !self.told.end && self.reader.is_over() {
            self.told.end = true;
            self.events.push_back(Event::EndOfStream);
            self.called = true;
        }
    }

    /// Reads up to `max` bytes of one stream that lie together.
    fn read_stream(&mut self, id: StreamId, max: u64) -> u64 {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let number = id.index() as u16;
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return 0 };
        let most = max.min(self.reader.most(number));
        let mut read = 0;
        while read < most {
            let Ok(Some(chunk)) = chunks.next(usize::try_from(most - read).unwrap_or(usize::MAX)) else {
                break;
            };
            self.reader.read(number, &chunk.bytes);
            read += chunk.bytes.len() as u64;
        }
        self.called |= chunks.finalize().should_transmit();
        read
    }
}

impl Socket for QuinnEnd {
    fn connect(&mut self, now: Instant) {
        let Some(config) = self.client.take() else { return };
        let remote = self.settings.remote;
        let made =
            self.with(now, |end| end.endpoint.connect(real_time(now), config, remote, rexmit_tls::SERVER));
        match made {
            Ok((handle, connection)) => {
                let early = connection.has_0rtt();
                self.connection = Some((handle, connection));
                if early {
                    self.connected();
                }
            }
            Err(error) => self.failure = Some(format!("quinn cannot connect: {error}")),
        }
        (self.called, self.now) = (true, now);
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        self.send(now, len, Delivery::default())
    }

    fn send(&mut self, now: Instant, len: u64, how: Delivery) -> u64 {
        if !self.told.connected || self.told.closing || self.told.closed {
            return 0;
        }
        if how.datagram {
            return self.send_datagram(now, len);
        }
        let Some(id) = self.own_stream(how.stream) else { return 0 };
        let mut taken = 0;
        while taken < len {
            let Some((_, connection)) = &mut self.connection else { break };
            let bytes = self.writer.next(len - taken);
            let Ok(wrote) = connection.send_stream(id).write(bytes) else { break };
            self.writer.wrote(how.stream, wrote as u64);
            taken += wrote as u64;
        }
        (self.called, self.now) = (true, now);
        taken
    }

    fn read_offset(&self) -> Option<u64> {
        self.inbox.last().or(self.reader.last())
    }

    fn read(&mut self, now: Instant, max: u64) -> u64 {
        self.now = now;
        self.reader.begin();
        let mut read = self.inbox.read(max);
        for n in 0..self.open.len() {
            if read > 0 {
                break;
            }
            let id = self.open[n];
            if self.waits_of(id) > 0 {
                read = self.read_stream(id, max);
                break;
            }
        }
        self.end_streams();
        if read > 0 && self.readable() > 0 {
            self.events.push_back(Event::Readable);
        }
        read
    }

    fn readable(&self) -> u64 {
        let arrived = self.work.as_ref().map_or(0, |work| work.packets.arrived_in_order());
        self.inbox.readable() + arrived.saturating_sub(self.reader.total())
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
        self.finish_streams();
        (self.called, self.now) = (true, now);
    }

    fn abort(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.told.closed, true) {
            self.events.push_back(Event::Closed);
        }
        self.shut(now, 1);
    }
}
