//! A queue whose first item stands in the queue itself.

use std::collections::VecDeque;

/// First in, first out. As long as there is one item at most it has no memory elsewhere: the links of a large network
/// hold none most of the time, and what a packet on its way touches in each of them decides what a hop costs.
pub(crate) struct Headed<T> {
    first: Option<T>,
    /// Those behind it; empty where there is no first.
    #[expect(clippy::box_collection, reason = "a pointer where a queue would be four words, in every link")]
    rest: Option<Box<VecDeque<T>>>,
}

impl<T> Default for Headed<T> {
    fn default() -> Self {
        Self { first: None, rest: None }
    }
}

impl<T> Headed<T> {
    /// The item that was put in first.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// The item that was put in last.
    #[inline]
    pub fn last(&self) -> Option<&T> {
        self.rest.as_ref().and_then(|rest| rest.back()).or(self.first.as_ref())
    }

    /// Adds an item.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.first.is_none() {
            self.first = Some(item);
        } else {
            self.rest.get_or_insert_default().push_back(item);
        }
    }

    /// Takes the first item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let next = self.rest.as_mut().and_then(|rest| rest.pop_front());
        std::mem::replace(&mut self.first, next)
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.as_ref().map_or(0, |rest| rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_what_a_queue_does() {
        let (mut one, mut other) = (Headed::default(), VecDeque::new());
        let mut next = 7u32;
        for step in 0..2000u32 {
            next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Longer and longer, then shorter and shorter, and empty now and then.
            let likely = if step % 400 < 200 { 160 } else { 90 };
            if (next >> 16) & 0xff < likely {
                one.push(step);
                other.push_back(step);
            } else {
                assert_eq!(one.pop(), other.pop_front());
            }
            assert_eq!((one.first(), one.last(), one.len()), (other.front(), other.back(), other.len()));
        }
    }
}
