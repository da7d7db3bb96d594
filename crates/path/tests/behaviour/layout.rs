//! How much memory a link takes: networks have tens of thousands.

use rexmit_path::Direction;
use rexmit_wire::Packet;

#[test]
fn a_plain_link_takes_six_lines_of_a_cache() {
    assert_eq!(align_of::<Direction<Box<Packet>>>(), 64);
    assert!(size_of::<Direction<Box<Packet>>>() <= 384);
}
