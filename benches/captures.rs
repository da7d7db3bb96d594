//! Makes the captures that `make bench` has analysed: the sender's side of bulk flows between two hosts in virtual
//! time, with today's TCP (SACK, timestamps), so that duplicate ACKs, recoveries and timeouts are what the model
//! does, and every run makes the same bytes.
//!
//! ```text
//! captures FILE packets=10000000 flows=20 loss=1 snap=96 format=pcap
//! ```
//! `loss` is in per cent of the data packets; `format` is `pcap` (Ethernet, microseconds, which every program
//! reads) or `pcapng` (raw IP, nanoseconds). The capture has exactly as many packets as asked for.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use rexmit_capture::{Reader, RecordRef, Writer};
use rexmit_sim::{Resolved, RunOptions, Streams, run};
use serde_json::json;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Wanted {
    file: PathBuf,
    packets: u64,
    flows: u64,
    loss: f64,
    snap: u32,
    pcapng: bool,
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let file = words
        .next()
        .ok_or("usage: captures FILE [packets=N] [flows=N] [loss=PERCENT] [snap=N] [format=pcap]")?;
    let mut wanted =
        Wanted { file: file.into(), packets: 10_000_000, flows: 20, loss: 1.0, snap: 96, pcapng: false };
    for word in words {
        match word.split_once('=').ok_or("options are written name=value")? {
            ("packets", value) => wanted.packets = value.parse()?,
            ("flows", value) => wanted.flows = value.parse()?,
            ("loss", value) => wanted.loss = value.parse()?,
            ("snap", value) => wanted.snap = value.parse()?,
            ("format", value) => wanted.pcapng = value == "pcapng",
            (name, _) => return Err(format!("unknown option {name}").into()),
        }
    }
    let scratch = wanted.file.with_extension("whole");
    let result = make(&wanted, &scratch);
    // What is left of a failure is of no use either.
    let _ = std::fs::remove_file(&scratch);
    result
}

fn make(wanted: &Wanted, scratch: &Path) -> Result<()> {
    // How long to run, from how much a shorter run gives; slow starts make the beginning denser.
    let mut seconds = 2.0;
    let mut seen = simulate(wanted, scratch, seconds)?;
    while seen < wanted.packets {
        seconds *= (wanted.packets as f64 / seen as f64 * 1.05).clamp(1.1, 50.0);
        seen = simulate(wanted, scratch, seconds)?;
    }
    copy(wanted, scratch)
}

/// Packets that the server's capture holds after so long.
fn simulate(wanted: &Wanted, scratch: &Path, seconds: f64) -> Result<u64> {
    // 256 KiB keep a flow below what the queue holds, so that without random loss nothing is lost.
    let stack = json!({ "inherits": "rfc-2014", "buffers": { "send": "256 KiB", "receive": "256 KiB" } });
    let bulk = format!("{} s", seconds.ceil());
    let scenario = json!({
        "hosts": { "server": { "stack": stack }, "client": { "stack": stack } },
        "path": {
            "rate": "10 Gbit/s",
            "delay": "10 ms",
            "queue": "1000000 packets",
            "down": { "loss": format!("{} %", wanted.loss) },
        },
        "transfers": [{
            "from": "server", "to": "client", "opened_by": "client",
            "bulk": bulk, "connections": wanted.flows, "stagger": "137 us",
        }],
        "limit": format!("{} ms", (seconds * 1e3) as u64),
    });
    let options = RunOptions {
        capture_files: [Some(scratch.to_path_buf()), None].into_iter().collect(),
        capture_snap_len: Some(wanted.snap),
        ..RunOptions::default()
    };
    let row = run(&Resolved::from_value(scenario)?, &Streams::new(1, ""), &options)?.row;
    // What the server sent, lost or not, and what reached it.
    let sent = row.packets_down.ok_or("the run has two hosts")?;
    let arrived = row.deliveries - (sent - row.drops_down.unwrap_or(0));
    Ok(sent + arrived)
}

/// The first packets, without the emulator's comments.
fn copy(wanted: &Wanted, scratch: &Path) -> Result<()> {
    let mut reader = Reader::new(File::open(scratch)?)?;
    let mut out = Output::new(BufWriter::with_capacity(1 << 20, File::create(&wanted.file)?), wanted)?;
    for _ in 0..wanted.packets {
        let record = reader.next_ref()?.ok_or("fewer packets than the run counted")?;
        out.packet(&record)?;
    }
    out.finish()
}

enum Output {
    Pcap(BufWriter<File>),
    Pcapng(Box<Writer<BufWriter<File>>>),
}

const ETHERNET_HEADER: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];

impl Output {
    fn new(mut file: BufWriter<File>, wanted: &Wanted) -> Result<Self> {
        if wanted.pcapng {
            let options = rexmit_capture::Options {
                epoch_ns: 0,
                snap_len: Some(wanted.snap),
                ..rexmit_capture::Options::default()
            };
            return Ok(Self::Pcapng(Box::new(Writer::with_options(file, "server", &options)?)));
        }
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, wanted.snap, 1] {
            file.write_all(&word.to_le_bytes())?;
        }
        Ok(Self::Pcap(file))
    }

    fn packet(&mut self, record: &RecordRef<'_>) -> Result<()> {
        match self {
            Self::Pcap(file) => {
                // The header of Ethernet counts among the bytes kept.
                let room = record.data.len().saturating_sub(ETHERNET_HEADER.len());
                let kept =
                    if record.data.len() < record.original_len as usize { room } else { record.data.len() };
                let ns = record.time.as_nanos();
                let lens = [kept as u32, record.original_len].map(|len| len + ETHERNET_HEADER.len() as u32);
                for word in [(ns / 1_000_000_000) as u32, (ns / 1_000 % 1_000_000) as u32, lens[0], lens[1]] {
                    file.write_all(&word.to_le_bytes())?;
                }
                file.write_all(&ETHERNET_HEADER)?;
                file.write_all(&record.data[..kept])?;
            }
            Self::Pcapng(writer) => writer.write_kept(record.time, record.data, record.original_len)?,
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Pcap(mut file) => file.flush()?,
            Self::Pcapng(writer) => drop(writer.finish()?),
        }
        Ok(())
    }
}
