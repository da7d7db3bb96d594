use rexmit_units::{Duration, QueueLimit};

use super::{By, Duplicated, Effects, Fate, Verdict};
use crate::spec::Algorithm;

/// Every fate, with its name and what dropped the packet.
fn fates() -> [(Fate, &'static str, Option<By>); 8] {
    let after = Duration::from_millis(3);
    [
        (Fate::Delivered { at: None }, "delivered", None),
        (Fate::Undecided, "undecided", None),
        (Fate::DroppedByPattern { position: 18 }, "dropped", Some(By::Pattern)),
        (Fate::DroppedByLoss, "dropped", Some(By::Random)),
        (Fate::QueueFull { limit: QueueLimit::Packets(99) }, "dropped", Some(By::Queue)),
        (Fate::DroppedOnArrival { by: Algorithm::Red }, "dropped", Some(By::Aqm)),
        (Fate::DroppedFromQueue { by: Algorithm::Codel, after }, "dropped", Some(By::Aqm)),
        (Fate::TooLong { bytes: 1514 }, "dropped", Some(By::Bucket)),
    ]
}

fn with(effects: Effects) -> Verdict {
    Verdict { position: 1, fate: Fate::Delivered { at: None }, effects }
}

#[test]
fn a_fate_has_a_name_and_a_drop_has_a_cause() {
    for (fate, name, by) in fates() {
        assert_eq!((fate.name(), fate.dropped_by()), (name, by), "{fate}");
        let verdict = Verdict { position: 1, fate, effects: Effects::default() };
        assert_eq!((verdict.by(), verdict.is_drop()), (by, by.is_some()), "{fate}");
    }
}

#[test]
fn the_comment_of_a_drop_is_known_as_one_whatever_else_was_done() {
    let effects = Effects { duplicated: Duplicated::CopyDropped, marked: true, ..Effects::default() };
    for (fate, name, _) in fates() {
        for effects in [Effects::default(), effects] {
            let comment = Verdict { position: 1, fate, effects }.to_string();
            assert_eq!(Fate::is_drop_in(&comment), name == "dropped", "{comment}");
        }
    }
    assert!(!Fate::is_drop_in("it was dropped, says a stranger"));
}

#[test]
fn effects_have_names_and_whoever_made_them() {
    let names = |effects: Effects| effects.names().collect::<Vec<_>>();
    let none = Effects::default();
    assert_eq!((names(none), with(none).by()), (vec![], None));
    let all = Effects {
        corrupted: true,
        duplicated: Duplicated::Delivered,
        held: Some(Duration::from_millis(5)),
        reordered: Some(2),
        marked: true,
        marked_by: None,
    };
    assert_eq!(names(all), ["damaged", "duplicated", "delayed", "reordered", "marked"]);
    assert_eq!(with(all).by(), Some(By::Pattern));
    let lost = Effects { duplicated: Duplicated::CopyDroppedByAqm { by: Algorithm::Codel }, ..none };
    assert_eq!((names(lost), with(lost).by()), (vec!["copy-dropped"], Some(By::Pattern)));
    let marked = Effects { marked: true, marked_by: Some(Algorithm::Red), ..none };
    assert_eq!((names(marked), with(marked).by()), (vec!["marked"], Some(By::Aqm)));
    let both = Effects { held: Some(Duration::from_millis(5)), ..marked };
    assert_eq!((names(both), with(both).by()), (vec!["delayed", "marked"], Some(By::Pattern)));
}
