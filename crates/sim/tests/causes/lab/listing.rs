//! What a person reads: the matrix, and packets around a judgement that was wrong.

use std::collections::HashMap;
use std::fmt::Write;

use rexmit_analysis::rows::Confidence;
use rexmit_network::two_hosts::{SERVER, peer};
use rexmit_network::{ConnectionId, HostId};
use rexmit_units::Instant;
use rexmit_wire::Flags;

use super::ran::Ran;
use super::score::{Finding, Said, Side, Tally, Verdict};
use super::view::{Sighting, view};

/// Packets of the connection that are shown before and after the one in question.
const AROUND: (usize, usize) = (24, 6);

/// The confusion matrices and the sums.
pub fn matrix(tally: &Tally) -> String {
    let mut out = String::new();
    for side in Side::ALL {
        let _ = write!(out, "\n{side:?} side, truth by judged cause:\n");
        cause_table(&mut out, tally, side);
        need_table(&mut out, tally, side);
    }
    let _ = write!(out, "\n{:10} {:>8} {:>8}", "side", "seen", "right %");
    let verdicts =
        [Verdict::Wrong, Verdict::Unknown, Verdict::Missed, Verdict::FalseAlarm, Verdict::FalseProof];
    for verdict in verdicts {
        let _ = write!(out, " {:>10}", format!("{verdict:?}"));
    }
    let _ = writeln!(out, " {:>9} {:>12} {:>9}", "Certain", "of it wrong", "invisible");
    for side in Side::ALL {
        let share = 100.0 * tally.right(side);
        let _ = write!(out, "{:10} {:8} {share:8.3}", format!("{side:?}"), tally.judged(side));
        for verdict in verdicts {
            let _ = write!(out, " {:10}", tally.count(side, verdict));
        }
        let wrong = tally.certain_and_wrong(side);
        let certain = tally.confidence.get(&(side, Confidence::Certain, true)).unwrap_or(&0) + wrong;
        let invisible = tally.invisible.get(&side).unwrap_or(&0);
        let _ = writeln!(out, " {certain:9} {wrong:12} {invisible:9}");
    }
    let _ = writeln!(out, "{} packets in captures", tally.packets);
    out
}

fn cause_table(out: &mut String, tally: &Tally, side: Side) {
    let cells: Vec<_> = tally.causes.iter().filter(|((s, ..), _)| *s == side).collect();
    let mut columns: Vec<Option<Said>> = cells.iter().map(|((_, _, cause), _)| *cause).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut truths: Vec<&str> = cells.iter().map(|((_, truth, _), _)| *truth).collect();
    truths.dedup();
    let _ = write!(out, "{:18}", "");
    for column in &columns {
        let _ = write!(out, " {:>13}", column.map_or("(not listed)", |said| said.1));
    }
    out.push('\n');
    for truth in truths {
        let _ = write!(out, "{truth:18}");
        for column in &columns {
            match tally.causes.get(&(side, truth, *column)) {
                Some(n) => write!(out, " {n:13}"),
                None => write!(out, " {:>13}", "."),
            }
            .expect("memory");
        }
        out.push('\n');
    }
}

fn need_table(out: &mut String, tally: &Tally, side: Side) {
    let columns = ["needed", "spurious", "unnecessary", "unknown"];
    let _ = writeln!(out, "{:18} {}", "earlier copies", columns.map(|c| format!("{c:>13}")).join(" "));
    for earlier in ["lost", "on-its-way", "there"] {
        let counts = columns.map(|c| tally.needs.get(&(side, earlier, c)).unwrap_or(&0));
        let _ = writeln!(out, "{earlier:18} {}", counts.map(|n| format!("{n:13}")).join(" "));
    }
}

/// The packets around one judgement, with what the model knows of each.
pub fn listing(ran: &Ran, finding: &Finding) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "--- case {} ({}), capture {:?}, {:?} side: {:?} packet {}",
        finding.case, ran.name, finding.place, finding.side, finding.verdict, finding.number
    );
    let capture = ran.capture(finding.place).expect("it was judged");
    let all = view(ran, &capture);
    let Some(at) = all.iter().find(|s| s.number == finding.number) else { return out };
    let truth = &ran.rows()[at.row];
    let _ = writeln!(
        out,
        "truth:  {:?}, transmission {}, earlier {:?}",
        truth.reason, truth.transmission, truth.earlier
    );
    match &finding.judged {
        None => out.push_str("judged: not listed\n"),
        Some(judged) => {
            let _ = writeln!(out, "judged: {}", judged.text);
        }
    }
    let initial = initial_numbers(ran, &all);
    let own: Vec<&Sighting> = all.iter().filter(|s| s.connection == at.connection).collect();
    let place = own.iter().position(|s| s.number == at.number).unwrap_or(0);
    let shown = place.saturating_sub(AROUND.0)..(place + AROUND.1).min(own.len());
    for sighting in &own[shown] {
        let mark = if sighting.number == at.number { ">>" } else { "  " };
        let _ = writeln!(out, "{mark}{}", line(ran, sighting, &initial));
    }
    out
}

/// All packets of a capture.
pub fn whole(ran: &Ran, capture: &[u8]) -> String {
    let all = view(ran, capture);
    let initial = initial_numbers(ran, &all);
    all.iter().map(|s| line(ran, s, &initial) + "\n").collect()
}

/// The initial sequence numbers by host and connection.
fn initial_numbers(ran: &Ran, all: &[Sighting]) -> HashMap<(HostId, ConnectionId), u32> {
    all.iter()
        .map(|s| ((s.host, s.connection), s.segment.seq.0.wrapping_sub(ran.rows()[s.row].seq as u32)))
        .collect()
}

fn line(ran: &Ran, sighting: &Sighting, initial: &HashMap<(HostId, ConnectionId), u32>) -> String {
    let row = &ran.rows()[sighting.row];
    let segment = &sighting.segment;
    let peer = initial.get(&(peer(sighting.host), sighting.connection)).copied().unwrap_or(0);
    let flags: String =
        [(Flags::SYN, 'S'), (Flags::FIN, 'F'), (Flags::RST, 'R'), (Flags::PSH, 'P'), (Flags::ACK, '.')]
            .iter()
            .filter(|(flag, _)| row.flags.has(*flag))
            .map(|(_, letter)| *letter)
            .collect();
    let ms = |time: Instant| time.as_nanos() as f64 / 1e6;
    let arrow = if row.host == SERVER { "s->c" } else { "c->s" };
    let mut line = format!(
        "{:5} {:11.4} {arrow} {flags:3} {}:{}({}) ack {} win {}",
        sighting.number,
        ms(sighting.time),
        row.seq,
        row.end(),
        row.len,
        segment.ack.0.wrapping_sub(peer),
        segment.window,
    );
    if let Some(stamps) = segment.timestamps {
        let _ = write!(line, " ts {}/{}", stamps.value, stamps.echo);
    }
    for (left, right) in segment.sack.as_slice() {
        let _ = write!(line, " [{}-{}]", left.0.wrapping_sub(peer), right.0.wrapping_sub(peer));
    }
    let _ = write!(line, "  | {}", row.reason.name());
    if row.transmission > 1 {
        let _ = write!(line, " #{} earlier {}", row.transmission, row.earlier.name());
    }
    match row.arrived {
        Some(arrived) => write!(line, ", {:.4} -> {:.4}", ms(row.time), ms(arrived)),
        None => write!(line, ", {:.4} -> LOST", ms(row.time)),
    }
    .expect("memory");
    if sighting.copy {
        line.push_str(" COPY");
    }
    line
}
