//! Packets in, judgements out.

mod any;
mod causes;
mod classes;
mod counts;
mod pedersen;
mod traps;

#[test]
fn an_association_of_an_init_alone_takes_little() {
    let mut associations = super::Associations::new(&crate::Options::default());
    super::script::push(&mut associations, "0 c init 100");
    assert!(associations.used() <= 5_000, "{} bytes", associations.used());
}

/// The opening of an association at its client, RTT 100 ms, the client's initial TSN 100.
const OPENING: &str = "0 c init 100
    100 s initack 1
    100.1 c cookie
    200 s cookieack
";

/// A line for each of `tsns`, from the millisecond `start` on, `step` apart.
fn lines(start: f64, step: f64, tsns: std::ops::Range<u32>, text: impl Fn(u32) -> String) -> String {
    tsns.enumerate().map(|(at, tsn)| format!("{} {}\n", start + step * at as f64, text(tsn))).collect()
}
