//! The one list of protocol stacks that hosts can run: the models and, behind the same traits, those of third parties.
//!
//! A new stack is a crate in `adapters/` with a [`StackFactory`], and a line in [`STACKS`]. Everything else (the keys of a
//! scenario, the JSON Schema, backends, `rexmit doctor`, the record of a study) comes from its [`About`].

use rexmit_stack::{Registry, StackFactory};

#[cfg(doc)]
use rexmit_stack::About;

mod end;
#[cfg(all(test, feature = "third-party"))]
mod left_out;
mod own;
#[cfg_attr(any(not(feature = "third-party"), target_family = "wasm"), path = "left_out.rs")]
mod third_party;

pub use end::{AnyEnd, AnyRun};
pub use own::{OwnCongestion, OwnParts};
pub use rexmit_linux::{Kernel, provide as provide_kernel};
pub use rexmit_program::{
    About as AboutProgram, KEYS as PROGRAM_KEYS, Lead as LeadProgram, Source, Tool, allow as allow_programs,
    ask_about as ask_about_program,
};

/// Every stack that is built in; those of third parties by name alone where the feature `third-party` is off.
pub static STACKS: &[&dyn StackFactory] = &[
    &rexmit_tcp::TcpModel,
    &rexmit_sctp::SctpModel,
    third_party::USRSCTP,
    &rexmit_linux::LinuxStack,
    third_party::SMOLTCP,
    third_party::LWIP,
    third_party::SCTP_PROTO,
    third_party::QUINN,
    third_party::NGTCP2,
    third_party::GVISOR,
    third_party::PION_SCTP,
    third_party::QUIC_GO,
    third_party::QUICHE,
    &rexmit_program::ProgramStack,
];

/// What the programs that are stacks of rexmit's own are built from: a page, for one, starts none.
pub static SOURCES: &[&Source] = third_party::SOURCES;

/// The same as a registry; a host that chooses none gets the models.
pub fn registry() -> Registry {
    Registry::new(STACKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_keys_of_a_scenario_and_of_a_record() {
        for entry in STACKS {
            let about = entry.about();
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(!about.name.is_empty() && about.name.chars().all(plain), "{}", about.name);
            assert!(!about.protocols.is_empty() && !about.summary.is_empty(), "{}", about.name);
        }
    }

    #[test]
    fn a_name_and_a_protocol_lead_to_one_entry() {
        for (n, entry) in STACKS.iter().enumerate() {
            for other in &STACKS[..n] {
                let (one, two) = (entry.about(), other.about());
                let shared = one.protocols.iter().any(|protocol| two.protocols.contains(protocol));
                assert!(one.name != two.name || !shared, "{}", one.name);
            }
            for protocol in entry.about().protocols {
                let found = registry().find(entry.about().name, protocol).expect("it is there");
                assert_eq!(found.about().summary, entry.about().summary);
            }
        }
    }

    /// A table of settings has a schema with a name, takes what its schema says, and refuses what it does not know.
    #[test]
    fn settings_have_a_schema_and_are_checked() {
        for entry in registry().tables() {
            let schema = entry.about().settings.expect("it has settings")();
            assert!(schema["title"].is_string(), "{}", entry.about().name);
            assert!(schema["properties"].is_object(), "{}", entry.about().name);
            entry.check_settings(&serde_json::json!({})).expect("every setting has a default");
            let wrong = entry.check_settings(&serde_json::json!({ "no_such_key": 1 })).unwrap_err();
            assert!(wrong.message.starts_with("unknown key `no_such_key`"), "{wrong}");
        }
    }

    #[test]
    fn an_unknown_name_is_told_the_nearest() {
        let told = |name, protocol| registry().find(name, protocol).unwrap_err().to_string();
        assert!(
            told("modle", "tcp")
                .starts_with("unknown code `modle`: did you mean `model`?; known here: model, ")
        );
        assert!(registry().with_default("modle").is_err());
        let entry =
            STACKS.iter().find(|entry| entry.about().protocols == ["sctp"] && entry.about().name != "model");
        if let Some(entry) = entry {
            let name = entry.about().name;
            assert_eq!(
                told(name, "tcp"),
                format!(
                    "the stack {name} speaks SCTP, and this profile is of TCP: give the hosts one of SCTP"
                )
            );
        }
    }
}
