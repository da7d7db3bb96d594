//! The laboratory for SCTP: what is judged is a DATA chunk that was sent again.

pub mod answers;
pub mod cases;
pub mod listing;
pub mod score;
pub mod view;
