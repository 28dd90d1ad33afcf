//! The naive oracle of an allocator: which intervals are live, and nothing else.

use std::collections::BTreeMap;

/// Live blocks by start. Knows nothing of orders, caches or chunks.
#[derive(Debug, Default)]
pub struct Intervals {
    ends: BTreeMap<usize, usize>,
}

impl Intervals {
    /// Adds `bytes` at `start`; panics if they overlap a live interval.
    pub fn add(&mut self, start: usize, bytes: usize) {
        let end = start + bytes;
        if let Some((&other, &other_end)) = self.ends.range(..end).next_back() {
            assert!(
                other_end <= start,
                "{start:#x}..{end:#x} overlaps the live {other:#x}..{other_end:#x}"
            );
        }
        self.ends.insert(start, end);
    }

    /// Takes away the interval that starts at `start`; panics if none does.
    pub fn remove(&mut self, start: usize) {
        assert!(
            self.ends.remove(&start).is_some(),
            "nothing live starts at {start:#x}"
        );
    }

    /// The live interval that holds `address`: its start.
    pub fn around(&self, address: usize) -> Option<usize> {
        self.ends
            .range(..=address)
            .next_back()
            .filter(|&(_, &end)| address < end)
            .map(|(&start, _)| start)
    }

    /// Bytes live.
    pub fn bytes(&self) -> usize {
        self.ends.iter().map(|(start, end)| end - start).sum()
    }
}
