//! The body of the fuzz target, run on a bounded number of inputs.

#[path = "../../../fuzz/bodies/units.rs"]
mod body;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_text(text in any::<String>()) {
        body::run(text.as_bytes());
    }

    #[test]
    fn nearly_a_quantity(
        number in "[-+]?[0-9]{0,30}(\\.[0-9]{0,30})?([eE][-+]?[0-9]{0,6})?",
        space in " {0,3}",
        unit in "(ns|us|µs|ms|s|min|h|bit/s|[kKmMgG]bit/s|[kKMG]i?B|bytes?|packets?|%|[a-zA-Z/%]{0,6})",
    ) {
        body::run(format!("{number}{space}{unit}").as_bytes());
    }
}
