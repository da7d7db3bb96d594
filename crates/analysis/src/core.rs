//! What the judges of TCP, of SCTP and of pairs share: the two sides of a flow, the thresholds, what makes a cause
//! certain, and parts of rows.

pub(crate) mod causes;
pub(crate) mod certain;
pub(crate) mod held;
pub mod policy;
pub(crate) mod rows;
pub(crate) mod side;
pub(crate) mod spread;
