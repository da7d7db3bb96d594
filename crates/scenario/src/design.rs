//! What varies in a study: which scenario a run has, by its number, and what names it for its random streams.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::SpecError;
use crate::settings::set;

/// A base scenario and what varies in it.
///
/// Points are combinations of levels, numbered from 0: the last factor varies fastest, then the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    base: Value,
    factors: Vec<String>,
    levels: Vec<Vec<Value>>,
}

/// The settings of a level of a factor that varies several together: `{"together": {setting: value, ...}}`.
pub fn together(level: &Value) -> Option<&Map<String, Value>> {
    let table = level.as_object()?;
    if table.len() == 1 { table.get("together")?.as_object() } else { None }
}

impl Design {
    /// A design. A level of a factor is the value of the setting that the factor is named after, or
    /// `{"together": {setting: value, ...}}` of one that varies several settings together.
    ///
    /// # Errors
    /// A factor without a level, or more lists of levels than factors.
    pub fn new(base: Value, factors: Vec<String>, levels: Vec<Vec<Value>>) -> Result<Self, SpecError> {
        if factors.len() != levels.len() {
            return Err(SpecError::new("", "each factor needs its list of levels"));
        }
        for (factor, levels) in factors.iter().zip(&levels) {
            if levels.is_empty() {
                return Err(SpecError::new(factor.as_str(), "a factor needs at least one level"));
            }
        }
        Ok(Self { base, factors, levels })
    }

    /// The names of the factors.
    pub fn factors(&self) -> &[String] {
        &self.factors
    }

    /// The levels of each factor.
    pub fn levels(&self) -> &[Vec<Value>] {
        &self.levels
    }

    /// Combinations of levels; the largest number where they are more.
    pub fn points(&self) -> u64 {
        self.levels.iter().fold(1, |n, levels| n.saturating_mul(levels.len() as u64))
    }

    /// The levels of point `n`.
    fn levels_of(&self, mut n: u64) -> Vec<usize> {
        let mut indices = vec![0; self.levels.len()];
        for (slot, levels) in indices.iter_mut().zip(&self.levels).rev() {
            *slot = (n % levels.len() as u64) as usize;
            n /= levels.len() as u64;
        }
        indices
    }

    /// The scenario of point `n` with its levels set.
    ///
    /// # Errors
    /// A factor that names nothing, a level that does not fit.
    pub fn scenario(&self, n: u64) -> Result<Value, SpecError> {
        self.scenario_at(&self.levels_of(n))
    }

    /// The same by the number of each factor's level.
    ///
    /// # Errors
    /// As [`Self::scenario`].
    pub fn scenario_at(&self, indices: &[usize]) -> Result<Value, SpecError> {
        let mut value = self.base.clone();
        for ((factor, levels), &i) in self.factors.iter().zip(&self.levels).zip(indices) {
            match together(&levels[i]) {
                None => set(&mut value, factor, levels[i].clone())?,
                Some(settings) => {
                    for (setting, level) in settings {
                        set(&mut value, setting, level.clone())?;
                    }
                }
            }
        }
        Ok(value)
    }

    /// What names run (point, replication) for its random streams: the factors in alphabetic order with
    /// their levels, so that neither their order nor other levels matter.
    pub fn run_key(&self, point: u64, replication: u64) -> String {
        Self::key_of_run(&self.point_key(point), replication)
    }

    /// What names a replication of a point.
    pub fn key_of_run(point: &str, replication: u64) -> String {
        [point, ";replication=", &replication.to_string()].concat()
    }

    /// The part of it that the runs of a point share.
    pub fn point_key(&self, point: u64) -> String {
        let mut parts: Vec<String> = self
            .factors
            .iter()
            .zip(&self.levels)
            .zip(self.levels_of(point))
            .map(|((factor, levels), i)| format!("{factor}={}", levels[i]))
            .collect();
        parts.sort();
        parts.join(";")
    }
}
