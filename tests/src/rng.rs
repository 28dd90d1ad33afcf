//! A small deterministic generator: the same seed gives the same test on every machine.

/// SplitMix64: one addition and three multiplications a number, no state to warm up.
pub struct Rng(u64);

impl Rng {
    /// The generator of `seed`. Seeds that differ by one give unrelated numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// A size whose order is evenly spread over `0 ..= max_order`, so that large ones are met as
    /// often as small ones.
    pub fn size(&mut self, max_order: u32) -> usize {
        let block = 16 << self.below(max_order as usize + 1);
        let smallest = if block == 16 { 1 } else { block / 2 + 1 };
        smallest + self.below(block - smallest + 1)
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

/// Scrambles 64 bits: neighbours come out unrelated.
pub(crate) fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
