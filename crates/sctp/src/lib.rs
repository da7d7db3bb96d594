//! stub
pub mod profile;
pub use profile::Profile;
use rexmit_stack::*;
use rexmit_units::*;
use rexmit_wire::*;
use std::collections::VecDeque;
use std::net::*;
use std::sync::Arc;
#[allow(missing_docs)]
#[derive(Debug)]
pub enum Role {
    Active,
    Passive,
}
#[allow(missing_docs)]
#[derive(Debug)]
pub struct AssociationConfig {
    pub profile: Arc<Profile>,
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub more_local: Vec<IpAddr>,
    pub more_remote: Vec<IpAddr>,
    pub mtu: u32,
    pub phase: Duration,
    pub role: Role,
    pub tag: u32,
    pub initial_tsn: u32,
    pub secret: u64,
}
#[allow(missing_docs)]
#[derive(Debug)]
pub struct Association;
#[allow(missing_docs)]
impl Association {
    pub fn new(_: AssociationConfig) -> Self {
        Self
    }
    pub fn swap_queue(&mut self, _: &mut VecDeque<Transmission>) {}
    pub fn counters(&self) -> &Counters {
        todo!()
    }
    pub fn misplaced_bytes(&self) -> u64 {
        0
    }
}
impl Endpoint for Association {
    fn handle_packet(&mut self, _: Instant, _: Packet) {}
    fn handle_timer(&mut self, _: Instant) {}
    fn poll_transmit(&mut self, _: Instant) -> Option<Transmission> {
        None
    }
    fn poll_timer(&self) -> Option<Instant> {
        None
    }
    fn poll_event(&mut self) -> Option<Event> {
        None
    }
    fn snapshot(&self) -> Snapshot {
        todo!()
    }
}
impl Socket for Association {
    fn connect(&mut self, _: Instant) {}
    fn write(&mut self, _: Instant, _: u64) -> u64 {
        0
    }
    fn read(&mut self, _: Instant, _: u64) -> u64 {
        0
    }
    fn readable(&self) -> u64 {
        0
    }
    fn close(&mut self, _: Instant) {}
    fn abort(&mut self, _: Instant) {}
}
