//! What the library says of itself.

use rexmit_units::Duration;

use crate::ffi::Setting;
use crate::{Usrsctp, UsrsctpConfig, UsrsctpError};

/// A started library has the values that [`UsrsctpConfig::default`] promises.
#[test]
fn defaults_are_the_library_s() {
    let _running = Usrsctp::start(Duration::ZERO).expect("it is there");
    let ours = UsrsctpConfig::default();
    let ms = |time: Duration| (time.as_nanos() / 1_000_000) as u32;
    let expected = [
        (Setting::SendSpace, ours.send_buffer.0 as u32),
        (Setting::ReceiveSpace, ours.receive_buffer.0 as u32),
        (Setting::Ecn, ours.ecn.into()),
        (Setting::MaxBurst, ours.max_burst),
        (Setting::FastMaxBurst, ours.fast_max_burst),
        (Setting::SackDelay, ms(ours.sack_delay)),
        (Setting::SackFrequency, ours.sack_frequency),
        (Setting::Heartbeat, ms(ours.heartbeat)),
        (Setting::RtoMax, ms(ours.rto_max)),
        (Setting::RtoMin, ms(ours.rto_min)),
        (Setting::RtoInitial, ms(ours.rto_initial)),
        (Setting::InitMax, ours.init_retransmits.into()),
        (Setting::AssociationMax, ours.association_retransmits.into()),
        (Setting::PathMax, ours.path_retransmits.into()),
        (Setting::StreamsOut, ours.streams.into()),
        (Setting::InitialWindow, ours.initial_window),
        (Setting::Interleave, ours.fragment_interleave),
    ];
    for (setting, value) in expected {
        assert_eq!((setting, setting.get()), (setting, value));
    }
}

#[test]
fn a_thread_starts_it_once() {
    let running = Usrsctp::start(Duration::ZERO).expect("it is there");
    assert_eq!(Usrsctp::start(Duration::ZERO).unwrap_err(), UsrsctpError::Running);
    drop(running);
    assert!(Usrsctp::start(Duration::ZERO).is_ok());
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let wrong = |change: fn(&mut UsrsctpConfig)| {
        let mut settings = UsrsctpConfig::default();
        change(&mut settings);
        settings.check().unwrap_err().to_string()
    };
    assert_eq!(
        wrong(|settings| settings.sack_delay = Duration::from_micros(1_500)),
        "stack usrsctp: sack_delay = 1.5 ms is not possible: write whole milliseconds"
    );
    assert_eq!(
        wrong(|settings| settings.rto_min = Duration::from_secs(4)),
        "stack usrsctp: rto_initial = 3 s is not possible: it lies between rto_min and rto_max"
    );
    assert_eq!(
        wrong(|settings| settings.fragment_interleave = 3),
        "stack usrsctp: fragment_interleave = 3 is not possible: write 0, 1 or 2"
    );
}
