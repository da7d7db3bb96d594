//! A trace in spans of one length, for people and pictures.

use rexmit_units::{Duration, LineRate, Probability};

use super::csv::Rows;
use super::{OPPORTUNITY, Opportunities, TraceFile, TraceFormat};

/// What a trace says of one span: the mean over it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// Bits that can pass in it; `None` where the trace says nothing of the rate.
    pub bits: Option<f64>,
    /// The delay, ns; `None` where the trace says nothing of it.
    pub delay: Option<f64>,
    /// The share of packets that is lost; `None` where the trace says nothing of it.
    pub loss: Option<f64>,
    /// How long it is, ns; the last one may be shorter.
    pub length: u64,
}

/// One round of a trace in spans of `bin`, which is above zero; of a single moment, one span.
pub fn bins(file: &TraceFile, bin: Duration) -> Vec<Bin> {
    let end = file.about().last.as_nanos().max(1);
    let bin = bin.as_nanos().max(1);
    let length = |n: u64| bin.min(end - n * bin);
    let mut all: Vec<Bin> =
        (0..end.div_ceil(bin)).map(|n| Bin { length: length(n), ..Bin::default() }).collect();
    match file.about().format {
        TraceFormat::Mahimahi => {
            all.iter_mut().for_each(|one| one.bits = Some(0.0));
            let mut opportunities = Opportunities::new(file, false);
            for _ in 0..file.about().lines {
                // The one at the end belongs to what lies before it.
                let at = opportunities.next().as_nanos().min(end - 1);
                if let Some(bits) = &mut all[(at / bin) as usize].bits {
                    *bits += f64::from(OPPORTUNITY) * 8.0;
                }
                opportunities.pass();
            }
        }
        TraceFormat::Csv => spread_rows(file, &mut all, bin),
    }
    all
}

/// Each row holds until the next.
fn spread_rows(file: &TraceFile, all: &mut [Bin], bin: u64) {
    let end = file.about().last.as_nanos().max(1);
    let mut rows = Rows::new(file);
    let mut held = (None, None, None);
    let mut from = 0;
    loop {
        let row = rows.next().unwrap_or_else(|fault| file.has_changed(&fault));
        let until = row.map_or(end, |row| row.time.as_nanos());
        for n in from / bin..until.div_ceil(bin).min(all.len() as u64) {
            let part = (until.min((n + 1).saturating_mul(bin))).saturating_sub(from.max(n * bin)) as f64;
            let one = &mut all[n as usize];
            let (rate, delay, loss): (Option<LineRate>, Option<Duration>, Option<Probability>) = held;
            let share = part / one.length as f64;
            add(&mut one.bits, rate.map(|rate| rate.bits_per_second() as f64 * part / 1e9));
            add(&mut one.delay, delay.map(|delay| delay.as_nanos() as f64 * share));
            add(&mut one.loss, loss.map(|loss| loss.as_f64() * share));
        }
        let Some(row) = row else { return };
        from = until;
        held = (row.rate.or(held.0), row.delay.or(held.1), row.loss.or(held.2));
    }
}

fn add(sum: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or(0.0) + value);
    }
}
