//! What SACK has reported above the last acknowledgment.

/// Ranges that do not touch, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sacked {
    ranges: Vec<(i64, i64)>,
}

impl Sacked {
    /// A block from `left` to before `right`.
    pub fn add(&mut self, left: i64, right: i64) {
        let (mut left, mut right) = (left, right);
        self.ranges.retain(|range| {
            let apart = range.1 < left || right < range.0;
            if !apart {
                (left, right) = (left.min(range.0), right.max(range.1));
            }
            apart
        });
        let place = self.ranges.partition_point(|range| range.0 < left);
        self.ranges.insert(place, (left, right));
    }

    /// Everything before `ack` was acknowledged.
    pub fn acknowledge(&mut self, ack: i64) {
        self.ranges.retain_mut(|range| {
            range.0 = range.0.max(ack);
            range.0 < range.1
        });
    }

    /// Bytes in it.
    pub fn bytes(&self) -> i64 {
        self.ranges.iter().map(|range| range.1 - range.0).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_join_and_go_once_acknowledged() {
        let mut sacked = Sacked::default();
        sacked.add(300, 400);
        sacked.add(100, 200);
        assert_eq!(sacked.bytes(), 200);
        sacked.add(200, 300);
        assert_eq!((sacked.ranges.as_slice(), sacked.bytes()), ([(100, 400)].as_slice(), 300));
        sacked.acknowledge(350);
        assert_eq!(sacked.bytes(), 50);
        sacked.acknowledge(1000);
        assert_eq!(sacked.bytes(), 0);
    }
}
