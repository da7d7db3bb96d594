//! Packets in, judgements out.

mod pedersen;
