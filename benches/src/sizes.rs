//! Which sizes a workload asks for.

use std::alloc::Layout;
use std::fmt;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// What every object is aligned to, unless a trace asked for more.
pub const ALIGN: usize = 16;

/// How many sizes are drawn before they repeat. A power of two.
const DRAWS: usize = 1024;

/// The sizes of a cell's objects, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sizes {
    /// All the same.
    Fixed(usize),
    /// 16 B to 2 KiB, each doubling as frequent as any other: small ones are many, as in programs.
    Mixed,
    /// 4 KiB to 1 MiB, in the same way.
    Large,
}

impl Sizes {
    /// The sizes of this name: a number of bytes, or `mixed`.
    pub fn parse(name: &str) -> Result<Self> {
        if name == "mixed" {
            return Ok(Self::Mixed);
        }
        let bytes = name.parse().unwrap_or(0);
        ensure!(
            (ALIGN..=2048).contains(&bytes),
            "no size {name:?}; there are 16 to 2048 bytes, and mixed"
        );
        Ok(Self::Fixed(bytes))
    }

    /// The largest.
    pub fn most(self) -> usize {
        self.range().1
    }

    /// Smallest and largest.
    fn range(self) -> (usize, usize) {
        match self {
            Self::Fixed(bytes) => (bytes, bytes),
            Self::Mixed => (16, 2 << 10),
            Self::Large => (4 << 10, 1 << 20),
        }
    }

    /// The name in rows, where one size does not say it all.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Fixed(_) => None,
            Self::Mixed => Some("mixed"),
            Self::Large => Some("large"),
        }
    }

    /// A supply of sizes, the same for the same seed.
    pub fn draw(self, seed: u32) -> Draw {
        let mut random = Random::new(seed);
        let (least, most) = self.range();
        let doublings = (most as f64 / least as f64).log2();
        let sizes = (0..DRAWS).map(|_| {
            let share = f64::from(random.number()) / f64::from(u32::MAX);
            (least as f64 * (doublings * share).exp2()) as u32
        });
        Draw {
            sizes: sizes.collect(),
            at: 0,
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(bytes) => write!(f, "{bytes} B"),
            Self::Mixed => f.write_str("16 B to 2 KiB"),
            Self::Large => f.write_str("4 KiB to 1 MiB"),
        }
    }
}

/// Where a workload gets its sizes from. The one that is fixed must cost nothing.
pub trait Supply {
    /// The size of the next object.
    fn next(&mut self) -> usize;

    /// The size of an object that says it has `noted` bytes.
    fn of(&self, noted: u32) -> usize;
}

/// Always the same size.
pub struct Fixed(pub usize);

impl Supply for Fixed {
    #[inline(always)]
    fn next(&mut self) -> usize {
        self.0
    }

    #[inline(always)]
    fn of(&self, _noted: u32) -> usize {
        self.0
    }
}

/// Sizes that were drawn beforehand: drawing one costs more than many an allocation.
pub struct Draw {
    sizes: Box<[u32]>,
    at: usize,
}

impl Supply for Draw {
    #[inline(always)]
    fn next(&mut self) -> usize {
        self.at = (self.at + 1) % DRAWS;
        self.sizes[self.at] as usize
    }

    #[inline(always)]
    fn of(&self, noted: u32) -> usize {
        noted as usize
    }
}

/// Numbers without a pattern, the same for the same seed: Marsaglia's xorshift.
pub struct Random(u32);

impl Random {
    /// Zero is the one state that it would never leave.
    pub fn new(seed: u32) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9) | 1)
    }

    /// The next number.
    #[inline(always)]
    pub fn number(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
}

/// The layout of an object of a workload.
#[inline(always)]
pub fn layout(size: usize) -> Layout {
    debug_assert!(size > 0 && size <= isize::MAX as usize - ALIGN);
    // SAFETY: the alignment is a power of two, and no size of a workload comes near the address
    // space's end. Unchecked, because a branch here would be part of what is measured.
    unsafe { Layout::from_size_align_unchecked(size, ALIGN) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_spread_over_their_range() {
        for (sizes, least, most) in [(Sizes::Mixed, 16, 2048), (Sizes::Large, 4096, 1 << 20)] {
            let mut draw = sizes.draw(7);
            let drawn: Vec<usize> = (0..DRAWS).map(|_| draw.next()).collect();
            assert!(drawn.iter().all(|size| (least..=most).contains(size)));
            let middle = ((least * most) as f64).sqrt() as usize;
            let small = drawn.iter().filter(|&&size| size < middle).count();
            assert!(
                (400..624).contains(&small),
                "{small} of {DRAWS} below {middle}"
            );
        }
    }

    #[test]
    fn sizes_have_names() {
        assert_eq!(Sizes::parse("mixed").unwrap(), Sizes::Mixed);
        assert_eq!(Sizes::parse("64").unwrap(), Sizes::Fixed(64));
        for bad in ["8", "4096", "huge"] {
            let error = Sizes::parse(bad).unwrap_err().to_string();
            assert!(error.contains(bad), "{error}");
        }
    }
}
