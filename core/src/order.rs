//! Sizes to orders and back: pure arithmetic on units, orders and block addresses.
//!
//! A block of order k is `16 << k` bytes and its address is a multiple of that, so the buddy of
//! a block differs from it in exactly one bit of its unit number.

/// Bytes of a unit, the smallest block.
pub const UNIT_BYTES: u32 = 16;
/// Bytes of a chunk, and its alignment.
pub const CHUNK_BYTES: u32 = 1 << 20;
/// Units in a chunk.
pub const CHUNK_UNITS: u32 = CHUNK_BYTES / UNIT_BYTES;
/// The order of a whole chunk.
pub const CHUNK_ORDER: u32 = 16;
/// The largest order that can be allocated: the upper half of a chunk, 512 KiB. The lower half
/// always holds the chunk's block map.
pub const MAX_ORDER: u32 = CHUNK_ORDER - 1;
/// Bytes of the largest block that one chunk can give.
pub const MAX_BLOCK_BYTES: u32 = UNIT_BYTES << MAX_ORDER;
/// Chunks in the largest memory (4 GiB).
pub const MAX_CHUNKS: usize = 1 << 12;

/// The order of the smallest block that holds `size` bytes.
///
/// One subtraction, one or, one count of leading zeros: it stands in the path of every
/// allocation. A size of 0, and any size above 2 GiB, give an order above [`MAX_ORDER`], so one
/// comparison sends all of them to the slow path, which tells them apart.
#[inline(always)]
pub const fn order_of(size: u32) -> u32 {
    let last_byte = size.wrapping_sub(1) | (UNIT_BYTES - 1);
    u32::BITS - UNIT_BYTES.trailing_zeros() - last_byte.leading_zeros()
}

/// Bytes of a block of `order`.
#[inline(always)]
pub const fn block_bytes(order: u32) -> u32 {
    UNIT_BYTES << order
}

/// Units of a block of `order`.
#[inline(always)]
pub const fn block_units(order: u32) -> u32 {
    1 << order
}

/// The order of the largest block that may start at `unit` and does not reach beyond `end`, a later one.
#[inline(always)]
pub const fn largest_between(unit: u32, end: u32) -> u32 {
    let placed = unit.trailing_zeros();
    let fits = match end.wrapping_sub(unit).checked_ilog2() {
        Some(order) => order,
        None => 0,
    };
    if placed < fits { placed } else { fits }
}

/// The unit where the buddy of the block of `order` at `unit` starts.
#[inline(always)]
pub const fn buddy_of(unit: u32, order: u32) -> u32 {
    unit ^ block_units(order)
}

/// The address of the chunk that holds `address`.
#[inline(always)]
pub const fn chunk_of(address: u32) -> u32 {
    address & !(CHUNK_BYTES - 1)
}

/// The number of the chunk that holds `address`, counted from the start of the memory.
#[inline(always)]
pub const fn chunk_index(address: u32) -> usize {
    (address / CHUNK_BYTES) as usize
}

/// The unit of its chunk that holds `address`.
#[inline(always)]
pub const fn unit_of(address: u32) -> u32 {
    (address % CHUNK_BYTES) / UNIT_BYTES
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn order_is_the_smallest_that_fits() {
        for size in 1..=MAX_BLOCK_BYTES {
            let order = order_of(size);
            assert!(block_bytes(order) >= size, "{size} in order {order}");
            assert!(
                order == 0 || block_bytes(order - 1) < size,
                "{size} in order {order}"
            );
        }
    }

    #[test]
    fn no_bad_size_passes_for_a_small_order() {
        for size in [0, MAX_BLOCK_BYTES + 1, 0x8000_0001, 0xffff_fff7, u32::MAX] {
            assert!(order_of(size) > MAX_ORDER, "{size:#x}");
        }
    }

    #[test]
    fn buddies_are_each_others() {
        assert_eq!(buddy_of(0, 3), 8);
        assert_eq!(buddy_of(8, 3), 0);
        assert_eq!(unit_of(0x0012_3450), 0x2345);
        assert_eq!(chunk_of(0x0012_3450), 0x0010_0000);
        assert_eq!(chunk_index(0xffff_ffff), MAX_CHUNKS - 1);
    }
}
