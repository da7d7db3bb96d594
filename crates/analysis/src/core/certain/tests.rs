use super::*;

#[test]
fn nothing_is_certain_while_a_rival_is_left() {
    for (cause, rules) in TCP {
        for proof in proofs(rules) {
            assert_eq!(tcp(*cause, proof.by).confidence(), Confidence::Certain, "{cause:?}");
            for (rival, by) in *rules {
                let without = by.iter().fold(proof.by.0, |facts, fact| facts & !(1 << *fact as u8));
                assert_eq!(tcp(*cause, Facts(without)), Certainty::Likely, "{cause:?} {rival:?}");
            }
        }
    }
}

#[test]
fn no_cause_has_the_same_rival_twice_and_each_proof_has_its_words() {
    let all = TCP.iter().map(|(_, rules)| *rules).chain(SCTP.iter().map(|(_, rules)| *rules));
    for rules in all {
        let mut rivals: Vec<_> = rules.iter().map(|(rival, _)| rival.words()).collect();
        rivals.sort_unstable();
        rivals.dedup();
        assert_eq!(rivals.len(), rules.len());
        for proof in proofs(rules) {
            assert_eq!(proof.words(), proof.told());
            assert!(rivals.iter().all(|rival| proof.words().contains(rival)));
        }
    }
}

#[test]
fn a_cause_without_rules_is_never_certain() {
    let all = Facts(u64::MAX);
    assert_eq!(tcp(Cause::Unknown, all), Certainty::Likely);
    assert_eq!(sctp(SctpCause::WithNew, all), Certainty::Likely);
}
