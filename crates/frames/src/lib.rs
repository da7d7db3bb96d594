//! Packets as a kernel hands them over, and what is done with them on their way: frames in buffers that are used again, what a
//! device leaves undone, and super-packets. Bytes alone: nothing here asks a kernel.

pub mod header;
pub mod offload;
pub mod packet;
pub mod pool;
