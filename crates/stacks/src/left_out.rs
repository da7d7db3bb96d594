//! Third parties' stacks where a build leaves them out (the feature `third-party`, WebAssembly): their names stay known, so
//! that whoever asks for one is told what to do.

use rexmit_program::Source;
use rexmit_stack::{About, Determinism, RunSettings, SettingError, StackFactory, StackRun};

/// What to do.
const MISSING: &str =
    "it is left out of this build, which has the models alone; in a checkout `make setup` builds it";

pub(crate) static USRSCTP: &dyn StackFactory = &LeftOut::new("usrsctp", &["sctp"]);
pub(crate) static SMOLTCP: &dyn StackFactory = &LeftOut::new("smoltcp", &["tcp"]);
pub(crate) static LWIP: &dyn StackFactory = &LeftOut::new("lwip", &["tcp"]);
pub(crate) static SCTP_PROTO: &dyn StackFactory = &LeftOut::new("sctp-proto", &["sctp"]);
pub(crate) static QUINN: &dyn StackFactory = &LeftOut::new("quinn", &["quic"]);
pub(crate) static NGTCP2: &dyn StackFactory = &LeftOut::new("ngtcp2", &["quic"]);
pub(crate) static GVISOR: &dyn StackFactory = &LeftOut::new("gvisor", &["tcp"]);
pub(crate) static PION_SCTP: &dyn StackFactory = &LeftOut::new("pion-sctp", &["sctp"]);
pub(crate) static QUIC_GO: &dyn StackFactory = &LeftOut::new("quic-go", &["quic"]);
pub(crate) static QUICHE: &dyn StackFactory = &LeftOut::new("quiche", &["quic"]);

/// None is built.
pub(crate) static SOURCES: &[&Source] = &[];

/// A stack of which a build has the name alone.
struct LeftOut(About);

impl LeftOut {
    const fn new(name: &'static str, protocols: &'static [&'static str]) -> Self {
        Self(About {
            name,
            summary: "a third party's stack, left out of this build",
            version: Some("left out"),
            protocols,
            determinism: Determinism::None,
            one_run_at_a_time: false,
            is_linux: false,
            transmissions: false,
            settings: None,
        })
    }
}

impl StackFactory for LeftOut {
    fn about(&self) -> &About {
        &self.0
    }

    fn missing(&self) -> Option<&str> {
        Some(MISSING)
    }

    fn start(&self, _: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        Err(SettingError::new("", format!("stack {}: {MISSING}", self.0.name)))
    }
}

#[cfg(all(test, feature = "third-party"))]
mod tests {
    use super::*;
    use crate::third_party;

    #[test]
    fn names_and_protocols_are_those_of_the_stacks() {
        let same = [
            (third_party::USRSCTP, USRSCTP),
            (third_party::SMOLTCP, SMOLTCP),
            (third_party::LWIP, LWIP),
            (third_party::SCTP_PROTO, SCTP_PROTO),
            (third_party::QUINN, QUINN),
            (third_party::NGTCP2, NGTCP2),
            (third_party::GVISOR, GVISOR),
            (third_party::PION_SCTP, PION_SCTP),
            (third_party::QUIC_GO, QUIC_GO),
            (third_party::QUICHE, QUICHE),
        ];
        for (there, left_out) in same {
            assert_eq!(there.about().name, left_out.about().name);
            assert_eq!(there.about().protocols, left_out.about().protocols);
            let told = left_out.missing().expect("it cannot run");
            assert!(told.contains("make setup"), "{told}");
        }
        assert!(SOURCES.is_empty(), "nothing of them is compiled");
    }
}
