//! What a block covers: a power of two of units, or five or six eighths of one.
//!
//! A request of 4 KiB and a byte more needs five eighths of the block of 8 KiB that it would take
//! whole; what it does not need goes back to the free lists as ordinary blocks. So nothing above
//! 4 KiB takes more than a third more than was asked for, and the least wasteful ones nothing. Seven
//! eighths would fit the spare codes of a byte too, but not for all orders, and save little.
//!
//! ```text
//!   order 9, 8 KiB   │ 0   1   2   3   4 │ 5 │ 6   7 │      eighths
//!   five eighths     └ the block ────────┘   └ two free blocks, of orders 6 and 7
//! ```
//!
//! A block that is cut short is where the whole one would be, so it is aligned like that; its order
//! is that of the whole one. An extent is five bits, the lower ones of a block's byte:
//!
//! | code | extent |
//! | --- | --- |
//! | 0–15 | the whole block of that order |
//! | 16–29 | by pairs, order 9 to 15: five and six eighths |

use crate::order::{MAX_ORDER, UNIT_BYTES, block_bytes, block_units};

/// The smallest order whose blocks are cut short: requests above 4 KiB. Smaller ones are worth more
/// in a cache, which holds whole ones.
pub(crate) const FIRST_CUT_ORDER: u32 = 9;
/// The first code of a block that is cut short.
const FIRST_CUT: u8 = 16;
/// Eighths of the order, as a power of two.
const EIGHTHS: u32 = 3;
const FIVE: u32 = 5;
const SIX: u32 = 6;

/// A block's size by its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent(u8);

impl Extent {
    /// One above every code.
    pub(crate) const CODES: u8 = FIRST_CUT + 2 * (MAX_ORDER + 1 - FIRST_CUT_ORDER) as u8;

    /// All of a block of `order`.
    #[inline(always)]
    pub(crate) const fn whole(order: u32) -> Self {
        Self(order as u8)
    }

    /// What `bytes` need of a block of `order`, the smallest that holds them: all of it, or five or six
    /// eighths.
    pub(crate) const fn needed(bytes: u32, order: u32) -> Self {
        if order < FIRST_CUT_ORDER {
            return Self::whole(order);
        }
        // A shift, since a division would bring its panic into every module.
        let eighths =
            (bytes.wrapping_sub(1) >> (UNIT_BYTES.trailing_zeros() + order - EIGHTHS)) + 1;
        if eighths < FIVE || eighths > SIX {
            return Self::whole(order);
        }
        Self(FIRST_CUT + (2 * (order - FIRST_CUT_ORDER) + eighths - FIVE) as u8)
    }

    /// Bytes that two blocks for sizes of `order` leave unasked, if every such size is equally frequent.
    pub(crate) const fn padding_of_two(order: u32) -> u32 {
        let bytes = block_bytes(order);
        if order >= FIRST_CUT_ORDER {
            // A sixteenth of those cut to five and to six eighths, a quarter of all each; an eighth of the rest.
            return bytes * 3 / 16;
        }
        let smallest = if order == 0 { 1 } else { bytes / 2 + 1 };
        bytes - smallest
    }

    /// The extent of this code, if there is one.
    #[inline(always)]
    pub(crate) const fn coded(code: u8) -> Option<Self> {
        if code < Self::CODES {
            Some(Self(code))
        } else {
            None
        }
    }

    /// Its code.
    #[inline(always)]
    pub(crate) const fn code(self) -> u8 {
        self.0
    }

    /// The order of the whole block.
    #[inline]
    pub const fn order(self) -> u32 {
        let code = self.0 as u32;
        if self.is_whole() {
            code
        } else {
            FIRST_CUT_ORDER + (code - FIRST_CUT as u32) / 2
        }
    }

    /// Whether it is the whole block.
    #[inline(always)]
    pub const fn is_whole(self) -> bool {
        self.0 < FIRST_CUT
    }

    /// Units that it covers.
    pub const fn units(self) -> u32 {
        if self.is_whole() {
            return block_units(self.order());
        }
        let eighths = FIVE + (self.0 - FIRST_CUT) as u32 % 2;
        eighths << (self.order() - EIGHTHS)
    }

    /// Bytes that it covers.
    pub const fn bytes(self) -> u32 {
        self.units() * UNIT_BYTES
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::order::{MAX_BLOCK_BYTES, order_of};
    extern crate std;
    use std::vec::Vec;

    #[test]
    fn the_extent_of_a_size_is_the_least_that_holds_it() {
        let extents = (0..Extent::CODES).map(|code| Extent::coded(code).unwrap());
        let mut sizes: Vec<u32> = extents.map(Extent::bytes).collect();
        sizes.sort_unstable();
        for bytes in (1..=MAX_BLOCK_BYTES).step_by(7).chain(sizes.clone()) {
            let extent = Extent::needed(bytes, order_of(bytes));
            let least = sizes.iter().find(|&&size| size >= bytes);
            assert_eq!(Some(&extent.bytes()), least, "{bytes:#x}");
            assert_eq!(extent.order(), order_of(bytes), "{bytes:#x}");
        }
    }

    #[test]
    fn codes_and_extents_are_each_others() {
        for code in 0..=u8::MAX {
            let extent = Extent::coded(code);
            assert_eq!(extent.is_some(), code < 30);
            assert!(extent.is_none_or(|extent| extent.code() == code));
        }
        assert_eq!(Extent::needed(131_080, 14).bytes(), 163_840);
    }
}
