//! Where there is no Linux, a run shares its processor with no program.

use std::rc::Rc;

/// There is none.
#[derive(Debug)]
pub(crate) enum Seat {}

/// None.
pub(crate) fn take() -> Option<Rc<Seat>> {
    None
}
