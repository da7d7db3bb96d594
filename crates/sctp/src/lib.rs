//! The SCTP model: a sans-IO endpoint whose mechanisms are chosen and parametrised by a profile.
