//! The Linux kernel as a stack that a host can run, beside any other.
//!
//! Each host has a guest of its own (User-Mode Linux) in which the engine of `live` serves one host: its namespace, its
//! interface, its sockets. The guest's clock goes in steps: it stands while other hosts act, goes to the time at which this
//! one gets a packet, a call of its application or the expiry of its first timer, and tells when that timer is due. So a
//! guest is never ahead of the run, and a run is a function of its configuration.
//!
//! [`provide`] says how a kernel is booted; who has built it knows. The process keeps the guests that it has started, and
//! gives them to its later runs. [`protocol`] is what the two processes tell each other.

mod end;
mod error;
mod factory;
#[cfg_attr(not(target_os = "linux"), path = "guest_elsewhere.rs")]
mod guest;
mod pool;
pub mod protocol;
mod traffic;

pub use factory::LinuxStack;
pub use pool::{Kernel, provide};
