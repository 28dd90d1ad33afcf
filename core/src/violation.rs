//! What a proof of an arena says: what it holds, or the first thing that is wrong.

use crate::damage::Damage;
use crate::heap::block::BlockState;
use core::fmt;

/// What an arena holds, by state: the result of a proof that found nothing wrong. Counts are
/// objects, bytes are whole blocks; the six sums add up to `owned_bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
pub struct Verification {
    /// Chunks of blocks walked.
    pub chunks: u32,
    /// Huge blocks, each a run of chunks.
    pub huge_blocks: u64,
    /// Blocks walked.
    pub blocks: u64,
    /// Bytes of all chunks.
    pub owned_bytes: u64,
    /// Bytes on free lists.
    pub free_bytes: u64,
    /// Bytes in the program's hands.
    pub allocated_bytes: u64,
    /// Objects in the program's hands.
    pub allocated_objects: u64,
    /// Bytes in workers' caches.
    pub cached_bytes: u64,
    /// Bytes in transfer caches.
    pub in_transfer_bytes: u64,
    /// Bytes on the deferred list.
    pub deferred_bytes: u64,
    /// Bytes of the allocator's own.
    pub metadata_bytes: u64,
}

/// The first thing that was found wrong. Addresses are byte offsets in the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The heap stayed locked, and this context may not wait: nothing was looked at.
    Busy,
    /// No block starts where the one before ends, or its byte is none that a block has.
    NoBlock {
        /// Where a block should start.
        address: u32,
        /// What the block map holds there.
        byte: u8,
    },
    /// A block that is not aligned to its size, or reaches beyond its chunk.
    Misplaced {
        /// The block.
        address: u32,
        /// Its order.
        order: u32,
    },
    /// A block claims to start inside another.
    Overlap {
        /// The outer block.
        address: u32,
        /// Where the inner one starts.
        inside: u32,
    },
    /// Two free buddies that were not merged.
    Uncoalesced {
        /// The lower one.
        address: u32,
        /// Their order.
        order: u32,
    },
    /// A free list holds a block that is not marked free of its order, or its links disagree.
    FreeList {
        /// The block.
        address: u32,
        /// The list's order.
        order: u32,
    },
    /// A cache or transfer cache holds an object that is not marked so.
    Entry {
        /// The object.
        address: u32,
        /// The order of the cache.
        order: u32,
        /// What the block map holds for it.
        byte: u8,
    },
    /// A huge block whose chunks the table does not give it.
    HugeRun {
        /// The block.
        address: u32,
        /// The chunks that it should have.
        count: u32,
    },
    /// An object that two places hold.
    Twice {
        /// The object.
        address: u32,
    },
    /// A block whose state says that some place holds it, and none does.
    Lost {
        /// The block.
        address: u32,
        /// The state that its byte claims.
        state: BlockState,
    },
    /// Checking mode: bytes of a block count as allocated and the block is not, or the reverse.
    Shadow {
        /// The block.
        address: u32,
        /// Bytes of it that count as allocated.
        size: u32,
    },
    /// Checking mode: somebody wrote where nobody should.
    Damaged(Damage),
    /// A counter that is not what the block maps say.
    Counter {
        /// Which.
        name: &'static str,
        /// Its value.
        counted: u64,
        /// What the maps say.
        found: u64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Busy => {
                f.write_str("the heap is locked and this context may not wait; try again")
            }
            Self::NoBlock { address, byte } => {
                write!(f, "no block starts at {address:#x} (map byte {byte:#04x})")
            }
            Self::Misplaced { address, order } => {
                write!(f, "the block at {address:#x} cannot be of order {order}")
            }
            Self::Overlap { address, inside } => write!(
                f,
                "a block starts at {inside:#x}, inside the one at {address:#x}"
            ),
            Self::Uncoalesced { address, order } => write!(
                f,
                "free buddies of order {order} at {address:#x} were not merged"
            ),
            Self::FreeList { address, order } => write!(
                f,
                "the free list of order {order} is broken at {address:#x}"
            ),
            Self::Entry {
                address,
                order,
                byte,
            } => write!(
                f,
                "a cache of order {order} holds {address:#x}, whose map byte is {byte:#04x}"
            ),
            Self::HugeRun { address, count } => write!(
                f,
                "the huge block at {address:#x} does not have its {count} chunks"
            ),
            Self::Twice { address } => write!(f, "two places hold {address:#x}"),
            Self::Lost { address, state } => write!(
                f,
                "the block at {address:#x} is marked {state:?}, and no place of that kind holds it"
            ),
            Self::Shadow { address, size } => write!(
                f,
                "{size:#x} bytes of the block at {address:#x} count as allocated, which its map \
                 byte contradicts"
            ),
            Self::Damaged(ref damage) => damage.fmt(f),
            Self::Counter {
                name,
                counted,
                found,
            } => write!(f, "{name} is counted as {counted}, and is {found}"),
        }
    }
}

impl core::error::Error for Violation {}
