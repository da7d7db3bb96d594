//! The one definition of a scenario, whatever runs it: the model in virtual time or a real kernel.
//!
//! A [`Scenario`] is one run as people write it; [`Resolved::from_value`] looks its names up, fills in every
//! default and checks the whole. [`Streams`] gives the run its named streams of random numbers, and a [`Row`] is
//! what every backend answers with. Python and the JSON Schema come from these types.

mod about_link;
mod codes;
mod connections;
mod design;
mod due;
mod error;
mod histogram;
mod host_cell;
mod host_spec;
mod hosts;
mod inputs;
mod intervals;
mod kernel;
mod kernel_names;
mod known;
mod late;
mod ledger;
mod link_books;
mod links;
mod linux;
mod measure;
mod messages;
mod meter;
mod path;
mod profiles;
mod programs;
mod retransmissions;
mod row;
mod sampling;
mod scenario;
mod settings;
mod stack_programs;
mod streams;
pub mod tables;
mod tables_of_flows;
mod timers;
mod timing;
mod traces;
mod unsupported;
mod verdicts;

pub use about_link::AboutLink;
pub use codes::IdleSetting;
pub use connections::{ConnectionPlan, FIRST_PORT, PlannedEnd, SERVICE_PORT, connection_of_ports};
pub use design::{Design, together};
pub use due::DueLinks;
pub use error::SpecError;
pub use host_cell::HostCell;
pub use host_spec::HostSpec;
pub use hosts::Hosts;
pub use inputs::{MOST_PROFILE_BYTES, open_capture, open_regular, read_text};
pub use intervals::{IntervalLog, IntervalRow, Intervals, Tally, goodput};
pub use kernel::KernelSettings;
pub use late::{LateRow, late_table};
pub use ledger::Ledger;
pub use links::{LinkForm, Links, NamedLink};
pub use linux::{LinuxSpec, SysctlValue};
pub use measure::{LinkRow, LinkSlice, MeasureSpec, TransferRow, TransferSlice};
pub use messages::{Message, MessageLog, MessageRow};
pub use meter::{Measured, Meter, Post, roles};
pub use profiles::{StackProfile, builtin_profiles, resolve_profile};
pub use programs::{Elsewhere, Program, ProgramForm, ProgramRow, ProgramSpec, ProgramsSpec, program_key};
pub use retransmissions::RetransmissionRow;
pub use rexmit_network::two_hosts;
pub use row::{Dropped, LinkCounts, Row, StateRow, VerdictRow};
pub use sampling::{Sampling, StateLog};
pub use scenario::{
    Resolved, Scenario, profile_schema, quic_profile_schema, read_path, schema, sctp_profile_schema,
};
pub use settings::set;
pub use streams::Streams;
pub use timers::Timers;
pub use traces::{OpenedTrace, open_trace, open_trace_file};
pub use verdicts::VerdictLog;
