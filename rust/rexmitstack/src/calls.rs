//! Calls of rexmit's, and answers to them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{FromRawFd, OwnedFd};
use std::thread;

use serde_json::Value;

use crate::memory::Memory;
use crate::{About, Data, End, Event, How, Line, Opening, Random, Run, Stack, VERSION};

const HELLO: u8 = 1;
const OPEN: u8 = 2;
const WRITE: u8 = 6;
const READ: u8 = 7;
const BYE: u8 = 10;
const FOLLOWED: u8 = 11;
const ANSWER: u8 = 0x80;
const REFUSAL: u8 = 0xff;
/// The file descriptor that leads to rexmit.
const LINE: i32 = 3;
/// An answer of so many bytes has no more reads behind them.
const ENOUGH: usize = 1 << 17;

/// Answers rexmit until it is gone.
///
/// # Errors
/// The line to it is broken, or it calls what there is not.
pub fn serve<S: Stack>(about: &About<'_>) -> Result<()> {
    // SAFETY: nobody else here owns the descriptor, which rexmit opens for this.
    #[allow(unsafe_code)]
    let line = File::from(unsafe { OwnedFd::from_raw_fd(LINE) });
    let input = BufReader::with_capacity(1 << 16, line.try_clone()?);
    let memory = Memory::offered();
    let mut wire = Wire { input, output: line, call: Vec::new(), memory, mapped: false };
    while let Some((kind, body)) = wire.next()? {
        let hello = match kind {
            HELLO => run_of(body)?,
            BYE => {
                wire.answer(BYE, &[])?;
                continue;
            }
            _ => return Err(invalid("a call before HELLO")),
        };
        let over = thread::scope(|scope| scope.spawn(|| run::<S>(&mut wire, about, hello)).join());
        match over {
            Ok(over) => over?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    Ok(())
}

fn run<S: Stack>(wire: &mut Wire, about: &About<'_>, hello: Run) -> Result<()> {
    let mut stack = match S::begin(hello) {
        Ok(stack) => stack,
        Err(text) => return wire.answer(REFUSAL & !ANSWER, text.as_bytes()),
    };
    let mut said = Line::new();
    said.item(16, &[&VERSION.to_le_bytes()]);
    said.item(17, &[about.name.as_bytes()]);
    said.item(18, &[about.build.as_bytes()]);
    said.item(19, &[about.protocols.as_bytes()]);
    if about.forgets {
        said.item(20, &[]);
    }
    if S::DATAGRAMS {
        said.item(128, &[]);
    }
    said.item(130, &[]);
    if wire.memory.is_some() && !wire.mapped {
        said.item(129, &[]);
    }
    wire.answer(HELLO, &said.items)?;
    wire.mapped = wire.memory.is_some();
    let mut ends: HashMap<u32, (S::End, Line)> = HashMap::new();
    while let Some((kind, body)) = wire.next()? {
        if kind == BYE {
            drop((ends, stack));
            return wire.answer(BYE, &[]);
        }
        let mut fields = Fields(body);
        let (now, number) = (fields.u64()?, fields.u32()?);
        if kind == OPEN {
            let mut line = Line::new();
            let end = stack.open(now, fields.opening()?, &mut line);
            ends.insert(number, (end, line));
        }
        let (end, line) = ends.get_mut(&number).ok_or_else(|| invalid("a call of an unknown end"))?;
        called(end, line, kind, now, fields)?;
        wire.answer(kind, &line.items)?;
        line.items.clear();
        line.told.clear();
    }
    Ok(())
}

fn called(end: &mut impl End, line: &mut Line, kind: u8, now: u64, mut fields: Fields<'_>) -> Result<()> {
    match kind {
        OPEN => {}
        3 => end.connect(now, line),
        4 => end.packet(now, fields.0, line),
        5 if line.due <= now => {
            if !line.ticks {
                line.due = u64::MAX;
            }
            end.timer(now, line);
        }
        5 => {}
        WRITE => {
            let how = fields.how()?;
            let taken = end.write(now, fields.0, how, line) as u32;
            line.item(1, &[&taken.to_le_bytes()]);
        }
        READ => {
            reads(end, line, now, fields.u32()?);
        }
        8 => end.close(now, line),
        9 => end.abort(now, line),
        FOLLOWED => followed(end, line, now, fields)?,
        _ => return Err(invalid("a call of an unknown kind")),
    }
    Ok(())
}

/// Gives what the application reads; true if its stream goes on behind that.
fn reads(end: &mut impl End, line: &mut Line, now: u64, most: u32) -> bool {
    let Some(Data { stream, place, ends, datagram, bytes }) = end.read(now, most as usize, line) else {
        return false;
    };
    let place = place.unwrap_or(u64::MAX);
    let flags = if datagram { 2 } else { u8::from(ends) };
    line.item(2, &[&stream.to_le_bytes(), &place.to_le_bytes(), &[flags], &bytes]);
    !ends
}

/// Answers a call, and those that the application makes as soon as it is told the one event of the answer: it reads until nothing is
/// left, or it writes.
fn followed(end: &mut impl End, line: &mut Line, now: u64, mut fields: Fields<'_>) -> Result<()> {
    let (first, most, size) = (fields.u8()?, fields.u32()?, fields.u32()? as usize);
    let (body, write) = fields.0.split_at_checked(size).ok_or_else(cut)?;
    if first == FOLLOWED {
        return Err(invalid("a call that follows itself"));
    }
    called(end, line, first, now, Fields(body))?;
    match line.told[..] {
        [Event::Writable] if !write.is_empty() => {
            line.item(11, &[&[WRITE]]);
            called(end, line, WRITE, now, Fields(write))?;
        }
        [Event::Readable] if most > 0 => {
            let mut goes = true;
            while goes && line.readable > 0 && line.items.len() < ENOUGH {
                line.item(11, &[&[READ]]);
                goes = reads(end, line, now, most) && line.told.iter().all(|event| *event == Event::Readable);
            }
        }
        _ => {}
    }
    Ok(())
}

fn run_of(body: &[u8]) -> Result<Run> {
    let (fixed, settings) = body.split_at_checked(34).ok_or_else(cut)?;
    let seed: [u8; 32] = fixed[2..].try_into().map_err(|_| cut())?;
    let settings: Value = serde_json::from_slice(settings)?;
    let mtu = settings["mtu"].as_u64().unwrap_or(1_500) as usize;
    let qlog = settings["qlog"].as_bool().unwrap_or(false);
    Ok(Run { seed, random: Random::new(&seed), settings, mtu, qlog })
}

fn invalid(text: &str) -> Error {
    Error::new(ErrorKind::InvalidData, text)
}

fn cut() -> Error {
    invalid("a call that is cut off")
}

/// The line to rexmit, and the call that it has made.
struct Wire {
    input: BufReader<File>,
    output: File,
    call: Vec<u8>,
    /// The line through memory, where it is offered; and whether it is in use.
    memory: Option<Memory>,
    mapped: bool,
}

impl Wire {
    /// The next call's kind and body; `None` once rexmit is gone.
    fn next(&mut self) -> Result<Option<(u8, &[u8])>> {
        let mapped = self.memory.as_mut().filter(|_| self.mapped);
        if !mapped.is_some_and(|memory| memory.next(&mut self.call)) && !self.read()? {
            return Ok(None);
        }
        let (kind, body) = self.call.split_first().ok_or_else(cut)?;
        Ok(Some((*kind, body)))
    }

    /// Reads a call from the socket; false once rexmit is gone.
    fn read(&mut self) -> Result<bool> {
        let mut head = [0; 4];
        match self.input.read_exact(&mut head) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        self.call.resize(u32::from_le_bytes(head) as usize, 0);
        self.input.read_exact(&mut self.call)?;
        Ok(true)
    }

    fn answer(&mut self, kind: u8, items: &[u8]) -> Result<()> {
        let mut frame = Vec::with_capacity(5 + items.len());
        frame.extend((items.len() as u32 + 1).to_le_bytes());
        frame.push(kind | ANSWER);
        frame.extend_from_slice(items);
        if self.memory.as_ref().is_some_and(|memory| self.mapped && memory.answer(&frame)) {
            return Ok(());
        }
        self.output.write_all(&frame)
    }
}

/// What is left of a call.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(cut)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8> {
        self.fixed::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16> {
        self.fixed().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.fixed().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.fixed().map(u64::from_le_bytes)
    }

    fn opening(&mut self) -> Result<Opening> {
        let (flags, streams, family) = (self.u8()?, self.u16()?, self.u8()?);
        let local = self.address(family)?;
        let remote = self.address(family)?;
        Ok(Opening { active: flags & 1 == 0, streams, local, remote, datagrams: flags & 2 != 0 })
    }

    fn address(&mut self, family: u8) -> Result<SocketAddr> {
        let ip =
            if family == 6 { IpAddr::from(self.fixed::<16>()?) } else { IpAddr::from(self.fixed::<4>()?) };
        Ok(SocketAddr::new(ip, self.u16()?))
    }

    fn how(&mut self) -> Result<How> {
        let (stream, flags, most) = (self.u16()?, self.u8()?, self.u32()?);
        let (lifetime, place) = (self.u64()?, self.u64()?);
        Ok(How {
            stream,
            unordered: flags & 1 == 1,
            max_retransmits: (most != u32::MAX).then_some(most),
            lifetime: (lifetime != u64::MAX).then_some(lifetime),
            place,
            datagram: flags & 2 == 2,
        })
    }
}
