//! The body of the fuzz target, run on a bounded number of inputs.

#[path = "../../../fuzz/bodies/association.rs"]
mod body;

use proptest::prelude::*;

/// Cases of a property; `PROPTEST_CASES` changes it.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn anything_may_arrive(data in prop::collection::vec(any::<u8>(), 0..1_000)) {
        body::run(&data);
    }

    #[test]
    fn anything_may_arrive_at_an_association_that_stands(
        first in any::<u8>(),
        data in prop::collection::vec(any::<u8>(), 0..2_000),
    ) {
        body::run(&[vec![first | 16], data].concat());
    }
}
