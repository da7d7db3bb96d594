//! Controllers from outside this crate.

use std::fmt::Debug;

use super::CongestionControl;

/// A [`CongestionControl`] that a connection can own and copy. Whatever is `Clone`, `Debug`, `Send` and
/// `Sync` has it automatically.
pub trait OwnControl: CongestionControl + Debug + Send + Sync + 'static {
    /// A copy in the same state.
    fn boxed_clone(&self) -> Box<dyn OwnControl>;
}

impl<C: CongestionControl + Clone + Debug + Send + Sync + 'static> OwnControl for C {
    fn boxed_clone(&self) -> Box<dyn OwnControl> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn OwnControl> {
    fn clone(&self) -> Self {
        // Of what is inside: a box is not a controller itself.
        (**self).boxed_clone()
    }
}
