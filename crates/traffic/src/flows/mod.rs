//! Flows that arrive at random: each a connection of its own, which carries some bytes once.
//!
//! A [`FlowsSpec`] is what people write; resolved, it is [`Flows`], from which a run draws its own list of [`Flow`]s.

mod cdf;
mod error;
mod file;
mod flow;
mod sizes;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::{Distribution, exponential};
use crate::spec::TransferError;

pub use error::FlowsError;
pub(crate) use file::Read;
pub use file::TableFile;
pub use flow::{Flow, FlowList};
pub use sizes::{CdfSpec, FlowSizes, Published};

use flow::MOST_FLOWS;
use sizes::Sizes;

/// Flows that arrive at random, each a connection of its own that carries its bytes once, as `bulk` does; each run draws its
/// own, at most 1,000,000. Exactly one of `count` and `time` says how many, and one of `every` and `load` how often;
/// alternatively `list` or `file` states each flow, which is then the same in every run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowsSpec {
    /// Number of flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Flows arrive for this long, counted from the transfer's `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Duration>,
    /// From `start` to the first flow, and from each flow to the next: `"5 ms"`, `"uniform 1 ms to 9 ms"`,
    /// `"exponential 5 ms"` (mean; flows then are a Poisson process), `"pareto 2 ms 1.5"` (least, shape),
    /// `"lognormal 5 ms 0.8"` (median, sigma).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Distribution<Duration>>,
    /// Flows are a Poisson process whose bytes, headers not counted, are on average this share of the rate `of`:
    /// 0.6 is 60 %; above 1 is more than the rate carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// The rate that `load` is a share of, such as that of the bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Rate>,
    /// Size of each flow, at least 1 byte and at most 1024 GiB: a distribution such as `"100 kB"` or `"exponential 100 kB"` (the
    /// five of `messages.size`), a published one, `"web-search"` (Alizadeh and others 2010; mean 1.67 MB) or
    /// `"data-mining"` (Greenberg and others 2009; mean 7.47 MB), both by the points of pFabric's simulations (Alizadeh and
    /// others 2013) in packets of 1460 bytes, or the points of a file, `{ cdf = "sizes.csv" }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<FlowSizes>,
    /// Each flow's start, after that of the transfer, and its size, in the order of starts: `"0 s 10 kB, 5 ms 1 MB"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<FlowList>,
    /// The same from a CSV with the columns `start` and `size`, their units in the header: `start (ms),size (kB)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<TableFile>,
}

impl FlowsSpec {
    /// The files that it names, for whoever reads them.
    pub fn files(&self) -> impl Iterator<Item = &TableFile> {
        let cdf = match &self.size {
            Some(FlowSizes::Cdf(CdfSpec { cdf })) => Some(cdf),
            _ => None,
        };
        self.file.iter().chain(cdf)
    }

    /// Checks the whole; `read` gives the text of each file that it names.
    pub(crate) fn resolve(&self, read: &mut Read<'_>) -> Result<Flows, TransferError> {
        let flows = match (&self.list, &self.file) {
            (None, None) => return self.drawn(read),
            (Some(_), Some(_)) => return Err(FlowsError::Both("list", "file").into()),
            (Some(list), None) => {
                self.alone("list")?;
                list.flows().clone()
            }
            (None, Some(file)) => {
                self.alone("file")?;
                file.parse("flows.file", read, FlowList::read)?.flows().clone()
            }
        };
        Ok(Flows(Arrivals::Given(flows)))
    }

    /// Nothing is said beside this key.
    fn alone(&self, key: &'static str) -> Result<(), FlowsError> {
        let others = [
            ("count", self.count.is_some()),
            ("time", self.time.is_some()),
            ("every", self.every.is_some()),
            ("load", self.load.is_some()),
            ("of", self.of.is_some()),
            ("size", self.size.is_some()),
        ];
        match others.into_iter().find(|(_, given)| *given) {
            Some((other, _)) => Err(FlowsError::Both(key, other)),
            None => Ok(()),
        }
    }

    fn drawn(&self, read: &mut Read<'_>) -> Result<Flows, TransferError> {
        let end = self.end()?;
        let size = self.size.as_ref();
        let between = match (self.every, self.load, self.of) {
            (None, None, None) => return Err(FlowsError::NoArrivals.into()),
            (Some(_), Some(_), _) => return Err(FlowsError::Both("every", "load").into()),
            (_, None, Some(_)) => return Err(FlowsError::OfWithoutLoad.into()),
            (None, Some(_), None) => return Err(FlowsError::LoadWithoutOf.into()),
            (Some(every), None, None) if every.is_zero() => {
                return Err(TransferError::NoTime("flows.every"));
            }
            (Some(every), None, None) => Between::Drawn(every),
            (None, Some(load), Some(_)) if !(load.is_finite() && load > 0.0) => {
                return Err(FlowsError::Load(load.to_string()).into());
            }
            (None, Some(load), Some(of)) => {
                let sizes = size.ok_or(FlowsError::NoSize)?.resolve(read)?;
                let mean = sizes.mean().ok_or(FlowsError::NoMean)?;
                let between = Between::Poisson(mean * 8e9 / (load * of.bits_per_second() as f64));
                return Flows::drawn(end, between, sizes);
            }
        };
        Flows::drawn(end, between, size.ok_or(FlowsError::NoSize)?.resolve(read)?)
    }

    fn end(&self) -> Result<End, TransferError> {
        match (self.count, self.time) {
            (None, None) => Err(FlowsError::NoEnd.into()),
            (Some(_), Some(_)) => Err(FlowsError::Both("count", "time").into()),
            (Some(0), None) => Err(TransferError::NoCount("flows.count")),
            (Some(count), None) if count > MOST_FLOWS => {
                Err(FlowsError::TooMany("flows.count", count).into())
            }
            (Some(count), None) => Ok(End::Count(count)),
            (None, Some(Duration::ZERO)) => Err(TransferError::NoTime("flows.time")),
            (None, Some(time)) => Ok(End::Time(time)),
        }
    }
}

/// Checked flows, from which each run draws its own. Cloning is cheap.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows(Arrivals);

#[derive(Clone, Debug, PartialEq)]
enum Arrivals {
    Given(Arc<[Flow]>),
    Drawn { end: End, between: Between, sizes: Sizes },
}

/// When no other flow arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Count(u64),
    /// Flows arrive before.
    Time(Duration),
}

/// From a flow to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    Drawn(Distribution<Duration>),
    /// Exponential, with this mean in ns, which is seldom a whole number.
    Poisson(f64),
}

impl Flows {
    fn drawn(end: End, between: Between, sizes: Sizes) -> Result<Self, TransferError> {
        let mean = match between {
            Between::Drawn(every) => every.mean(),
            Between::Poisson(mean) => Some(mean),
        };
        if let (End::Time(time), Some(mean)) = (end, mean) {
            let expected = time.as_nanos() as f64 / mean;
            if expected > MOST_FLOWS as f64 {
                return Err(FlowsError::TooMany("flows.time", expected as u64).into());
            }
        }
        Ok(Self(Arrivals::Drawn { end, between, sizes }))
    }

    /// How many, where that is known before they are drawn.
    pub fn count(&self) -> Option<u64> {
        match &self.0 {
            Arrivals::Given(flows) => Some(flows.len() as u64),
            Arrivals::Drawn { end: End::Count(count), .. } => Some(*count),
            Arrivals::Drawn { end: End::Time(_), .. } => None,
        }
    }

    /// Draws the flows of a run, in the order of their starts: for each the time since the one before, then its size. Given
    /// ones draw nothing.
    ///
    /// # Errors
    /// More flows within `time` than a transfer may have, which [`TransferSpec::resolve`](crate::TransferSpec::resolve)
    /// refuses where that is to be expected, but cannot exclude.
    pub fn draw(&self, stream: &mut Xoshiro256PlusPlus) -> Result<Vec<Flow>, FlowsError> {
        let (end, between, sizes) = match &self.0 {
            Arrivals::Given(flows) => return Ok(flows.to_vec()),
            Arrivals::Drawn { end, between, sizes } => (*end, between, sizes),
        };
        let mut flows = Vec::new();
        let mut start = Duration::ZERO;
        loop {
            if end == End::Count(flows.len() as u64) {
                return Ok(flows);
            }
            start += between.draw(stream);
            if let End::Time(time) = end
                && start >= time
            {
                return Ok(flows);
            }
            if flows.len() as u64 == MOST_FLOWS {
                return Err(FlowsError::TooManyDrawn);
            }
            flows.push(Flow { start, size: sizes.draw(stream) });
        }
    }
}

impl Between {
    fn draw(&self, stream: &mut Xoshiro256PlusPlus) -> Duration {
        match self {
            Self::Drawn(every) => every.draw(stream),
            Self::Poisson(mean) => exponential(*mean, stream),
        }
    }
}
