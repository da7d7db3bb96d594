//! Packets of SCTP around a judgement that was wrong.

use std::fmt::Write;

use rexmit_network::HostId;
use rexmit_network::two_hosts::{SERVER, peer};
use rexmit_wire::sctp::Chunk;

use super::answers::answers;
use super::view::{Sighting, view};
use crate::lab::Ran;
use crate::lab::score::Finding;

/// Packets that are shown before and after the one in question.
const AROUND: (usize, usize) = (40, 8);

/// The packets around one judgement, with what the model knows of each.
pub fn listing(ran: &Ran, finding: &Finding) -> String {
    let mut out = format!(
        "--- case {} ({}), capture {:?}, {:?} side: {:?} packet {}\n",
        finding.case, ran.name, finding.place, finding.side, finding.verdict, finding.number
    );
    let judged = finding.judged.as_ref().map_or("not listed", |judged| &judged.text);
    let _ = writeln!(out, "judged: {judged}");
    let all = view(ran, &ran.capture(finding.place).expect("it was judged"));
    let answers = answers(ran);
    let place = all.iter().position(|s| s.number == finding.number).unwrap_or(0);
    for i in &all[place].rows {
        let _ = writeln!(out, "truth:  TSN {}: {:?}", ran.rows()[*i].seq, answers.get(i));
    }
    let shown = place.saturating_sub(AROUND.0)..(place + AROUND.1).min(all.len());
    for sighting in &all[shown] {
        let mark = if sighting.number == finding.number { ">>" } else { "  " };
        let _ = writeln!(out, "{mark}{}", line(ran, sighting, &all));
    }
    out
}

/// All packets of a capture.
pub fn whole(ran: &Ran, capture: &[u8]) -> String {
    let all = view(ran, capture);
    all.iter().map(|s| line(ran, s, &all) + "\n").collect()
}

fn line(ran: &Ran, sighting: &Sighting, all: &[Sighting]) -> String {
    let initial = |host: HostId| {
        let first = all.iter().find(|s| s.host == host && s.packet.data().next().is_some());
        let row = first.map(|s| (s.packet.data().next().map_or(0, |d| d.tsn), ran.rows()[s.rows[0]].seq));
        row.map_or(0, |(tsn, seq)| tsn.wrapping_sub(seq as u32))
    };
    let arrow = if sighting.host == SERVER { "s->c" } else { "c->s" };
    let mut line = format!("{:5} {:11.4} {arrow}", sighting.number, sighting.time.as_nanos() as f64 / 1e6);
    for chunk in &sighting.packet.chunks {
        match chunk {
            Chunk::Data(data) => {
                let tsn = data.tsn.wrapping_sub(initial(sighting.host));
                let row = sighting.rows.iter().map(|i| &ran.rows()[*i]).find(|row| row.seq as u32 == tsn);
                let _ = write!(line, " {tsn}({})", data.payload.len());
                if let Some(row) = row.filter(|row| row.transmission > 1) {
                    let _ = write!(line, "#{} {}", row.transmission, row.earlier.name());
                }
            }
            Chunk::Sack(sack) => {
                let cumulative = sack.cumulative.wrapping_sub(initial(peer(sighting.host))) as i32;
                let _ = write!(line, " SACK {cumulative} win {}", sack.window);
                for gap in &sack.gaps {
                    let [from, to] = [gap.start, gap.end].map(|at| cumulative + i32::from(at));
                    let _ = write!(line, " [{from}-{to}]");
                }
            }
            other => {
                let text = format!("{other:?}");
                let _ = write!(line, " {}", text.split(['(', ' ']).next().unwrap_or_default());
            }
        }
    }
    let first = &ran.rows()[sighting.rows[0]];
    let _ = write!(line, "  | {:?}", first.reason);
    match first.arrived {
        Some(arrived) => write!(line, ", -> {:.4}", arrived.as_nanos() as f64 / 1e6),
        None => write!(line, ", -> LOST"),
    }
    .expect("memory");
    if sighting.copy {
        line.push_str(" COPY");
    }
    line
}
