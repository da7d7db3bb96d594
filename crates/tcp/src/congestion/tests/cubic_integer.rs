use super::cubic_root;

/// Within a per cent of the true root, and what the kernel's comment shows for small numbers.
#[test]
fn the_table_and_one_step_give_the_root() {
    for (a, root) in [(0, 0), (1, 1), (8, 2), (27, 3), (64, 4)] {
        assert_eq!(cubic_root(a), root, "{a}");
    }
    let mut a = 1_000u64;
    while a < 1 << 60 {
        let exact = (a as f64).cbrt();
        assert!((cubic_root(a) as f64 / exact - 1.0).abs() < 0.1, "{a}: {} {exact}", cubic_root(a));
        a = a * 7 / 3;
    }
}
