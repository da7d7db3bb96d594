//! Who makes endpoints: one entry of the registry for each protocol stack.
//!
//! The order of calls, for each run:
//!
//! 1. [`StackFactory::missing`], [`StackFactory::check_settings`] and [`StackFactory::check_host`], before anything
//!    runs;
//! 2. [`StackFactory::start`] with the hosts of the run that have this code: libraries with global state take their lock
//!    here;
//! 3. [`StackRun::endpoint`] for each end of each connection;
//! 4. once every end is gone, the [`StackRun`] is dropped, and the library forgets the run.
//!
//! A factory reads no clock and draws its random numbers only from the run's named streams.

use std::any::Any;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rexmit_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::quic::StreamPlaces;
use crate::{MODEL, SettingError, SocketWish, StackEnd};

/// A stream of random numbers, the same in every process; draw from it by [`crate::RngCore`].
pub type RandomStream = rand_xoshiro::Xoshiro256PlusPlus;

/// What never changes about a stack.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// Its name in scenarios, in small letters, digits and hyphens: the value of `hosts.X.code`, the key of its table
    /// `hosts.X.NAME`, and the backend `stack:NAME`. Entries of different protocols may share one.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// What tells one build of it from another, for the record of a study; `None` for code that is rexmit's own.
    pub version: Option<&'static str>,
    /// The protocols that it speaks, as profiles name them: `tcp`, `sctp`.
    pub protocols: &'static [&'static str],
    /// How reproducible a run is.
    pub determinism: Determinism,
    /// Its library has global state: a process has one run of it at a time, and the others wait.
    pub one_run_at_a_time: bool,
    /// It is a Linux kernel: the table `hosts.X.linux` holds for it.
    pub is_linux: bool,
    /// The table `transmissions` has its packets: they are values, not bytes, and each has its true reason.
    pub transmissions: bool,
    /// Makes the JSON Schema of its settings, the table `hosts.X.NAME`, with a `title`; `None` where it has none.
    #[serde(skip)]
    pub settings: Option<fn() -> Value>,
}

impl About {
    /// A model of rexmit's own, which behaves as the host's profile says.
    pub const fn model(summary: &'static str, protocols: &'static [&'static str]) -> Self {
        Self {
            name: MODEL,
            summary,
            version: None,
            protocols,
            determinism: Determinism::Bytes,
            one_run_at_a_time: false,
            is_linux: false,
            transmissions: true,
            settings: None,
        }
    }

    /// A third party's code of this version, with a table of settings of the type `C`.
    pub const fn third_party<C: JsonSchema>(
        name: &'static str,
        summary: &'static str,
        version: &'static str,
        protocols: &'static [&'static str],
        determinism: Determinism,
    ) -> Self {
        Self {
            name,
            summary,
            version: Some(version),
            protocols,
            determinism,
            one_run_at_a_time: false,
            is_linux: false,
            transmissions: false,
            settings: Some(schema::<C>),
        }
    }
}

/// The JSON Schema of a type.
fn schema<C: JsonSchema>() -> Value {
    serde_json::to_value(schemars::schema_for!(C)).unwrap_or_default()
}

/// How reproducible a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Determinism {
    /// To the byte.
    Bytes,
    /// Each packet has the same size and leaves at the same time; its bytes may differ.
    SizesAndTimes,
    /// Not at all.
    None,
}

/// A protocol stack that hosts can run.
pub trait StackFactory: Sync {
    /// What never changes about it.
    fn about(&self) -> &About;

    /// What is missing on this machine, and what to do; `None` where it can run.
    fn missing(&self) -> Option<&str> {
        None
    }

    /// Checks its table of a host, `hosts.X.NAME`.
    ///
    /// # Errors
    /// The first key or value that does not fit; keys are relative to the table.
    fn check_settings(&self, table: &Value) -> Result<(), SettingError> {
        let _ = table;
        Ok(())
    }

    /// The keys of the scenario that it cannot honour at this host, such as `hosts.server.stack.rto.min`.
    ///
    /// # Errors
    /// What makes a run impossible; keys are those of the scenario.
    fn check_host(&self, host: &HostSettings<'_>) -> Result<Vec<String>, SettingError> {
        let _ = host;
        Ok(Vec::new())
    }

    /// The keys of a transfer that it cannot honour at this host's sockets, such as `socket.pacing_rate`.
    ///
    /// # Errors
    /// A value that it does not know; keys are those of the transfer.
    fn check_sockets(&self, host: &HostSettings<'_>, wish: &SocketWish) -> Result<Vec<String>, SettingError> {
        let _ = host;
        Ok(wish.keys().collect())
    }

    /// Starts it for a run; waits while another run uses a library that allows only one.
    ///
    /// # Errors
    /// What is missing, or impossible.
    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError>;
}

impl fmt::Debug for dyn StackFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StackFactory").field(&self.about().name).finish()
    }
}

/// A stack that has been started for a run. It outlives its ends, and its drop ends the run for the library.
pub trait StackRun: Any {
    /// One end of a connection at host number `host` of [`RunSettings::hosts`]. Called in the order of the connections.
    ///
    /// # Errors
    /// Impossible settings, or a library that refuses them.
    fn endpoint(&mut self, host: usize, end: &EndSettings) -> Result<Box<dyn StackEnd>, SettingError>;
}

/// What a scenario says of a host.
#[derive(Clone, Copy)]
pub struct HostSettings<'a> {
    /// Its name, such as `server`. Its keys begin with `hosts.NAME.`, and so do the names of its random streams.
    pub name: &'a str,
    /// The key `stack` as it is written: the name of a profile, or a table that inherits and changes single values.
    pub stack: &'a Value,
    /// The table of this code's own settings, checked by [`StackFactory::check_settings`].
    pub settings: Option<&'a Value>,
    /// The host's whole table, for code that has the scenario's own words for a real kernel.
    pub table: &'a dyn HostTable,
    /// The profile with all that it inherits, for the models: an `Arc` of the profile of their crate.
    pub profile: &'a dyn Any,
    /// The profile's protocol.
    pub protocol: &'static str,
    /// MTU of its interface in bytes.
    pub mtu: u32,
    /// Its address.
    pub address: IpAddr,
    /// The address of the other host, where there is only one; `None` in a network.
    pub peer: Option<IpAddr>,
    /// Its address on the scenario's second path, where there is one.
    pub alternate_address: Option<IpAddr>,
    /// Its code is to log its connections, if it writes qlog: [`StackEnd::take_qlog`].
    pub qlog: bool,
}

/// A host's table in a scenario, for stacks that are a real kernel.
pub trait HostTable {
    /// The table as it is written.
    fn to_value(&self) -> Value;

    /// The keys in it that Linux has no setting for, such as `stack.recovery.slow_start`.
    fn unknown_to_linux(&self) -> Vec<String> {
        Vec::new()
    }

    /// The phase of its tick, in nanoseconds, where it is set.
    fn tick_phase_ns(&self) -> Option<u64> {
        None
    }
}

/// No table.
impl HostTable for () {
    fn to_value(&self) -> Value {
        Value::Null
    }
}

impl HostSettings<'_> {
    /// The scenario's name of one of this host's keys: `hosts.server.mtu`.
    pub fn key(&self, key: &str) -> String {
        ["hosts.", self.name, ".", key].concat()
    }

    /// The profile, for the model that it belongs to.
    ///
    /// # Errors
    /// A profile of another protocol.
    pub fn profile_of<T: 'static>(&self) -> Result<Arc<T>, SettingError> {
        let wrong = || SettingError::new(self.key("stack"), format!("a profile of {}", self.protocol));
        self.profile.downcast_ref().cloned().ok_or_else(wrong)
    }
}

/// What a run is made from.
#[derive(Clone, Copy)]
pub struct RunSettings<'a> {
    /// The hosts that have this code.
    pub hosts: &'a [HostSettings<'a>],
    /// The run's random streams by their names; asked for again, a stream starts from its beginning.
    pub streams: &'a dyn Fn(&str) -> RandomStream,
}

impl RunSettings<'_> {
    /// A phase below `tick` from the stream of this name, evenly distributed.
    pub fn phase(&self, name: &str, tick: Duration) -> Duration {
        use rand_core::RngCore;
        phase((self.streams)(name).next_u64(), tick)
    }
}

/// The part of `tick` that a random number stands for.
pub fn phase(number: u64, tick: Duration) -> Duration {
    let tick = tick.as_nanos().max(1);
    Duration::from_nanos(((u128::from(number) * u128::from(tick)) >> 64) as u64)
}

/// Which side opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends the first packet when the application connects.
    Active,
    /// Waits for the other side's.
    Passive,
}

/// What one end of a connection is made from.
#[derive(Clone, Debug)]
pub struct EndSettings {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// This host's address on the second path.
    pub more_local: Option<IpAddr>,
    /// Which side opens.
    pub role: Role,
    /// Streams that the application uses, for a stack that has them.
    pub streams: u16,
    /// Phase of the host's tick.
    pub phase: Duration,
    /// The other end runs other code, so packets must say themselves where in the application's writes their data
    /// belong, for stacks that may deliver out of order: in SCTP, the payload protocol identifier of a message is the lowest
    /// 32 bits of its place.
    pub marks_places: bool,
    /// For QUIC with several streams: where their bytes belong, known to both ends.
    pub places: Option<Arc<StreamPlaces>>,
    /// For QUIC: the transfer's writes are DATAGRAM frames, which both ends allow the other (RFC 9221 section 3). The
    /// end of the sender's stream, which has no bytes, says that all of them have left.
    pub datagrams: bool,
    /// What its application asks of the socket, where it asks for something that the host does not have already.
    pub wish: Option<Arc<SocketWish>>,
    /// What its application always does as it is told an event.
    pub habits: Habits,
}

/// What an application does the moment it is told an event, before any other call: a stack that is reached by calls may have it done
/// in the call that the event comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// Told that it can read, it reads until nothing is left, at most this many bytes each time.
    pub reads: Option<u64>,
    /// Told that it can write, it writes again what was not taken of its last write, if that was not all.
    pub writes_again: bool,
}

/// A stream of random numbers from a number that another stream has given: that of one of its ends, say.
pub fn seeded(number: u64) -> RandomStream {
    use rand_xoshiro::rand_core::SeedableRng;
    RandomStream::seed_from_u64(number)
}
