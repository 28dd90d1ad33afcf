//! The proof that every test ends with: `verify()`, and that the counters tell the same story.

use warena::{
    Arena, BlockState, CHUNK_BYTES, ChunkSource, Layout, Memory, UNIT_BYTES, Verification,
    block_extent, block_state,
};

/// A chunk of which nothing is in use: its map, and one free block each of orders 12 to 15.
pub const FREE_BLOCKS_OF_A_CHUNK: u64 = 4;

/// Proves the arena sound while no other call is in flight: `verify()` finds nothing, the states
/// add up to what is owned, and the lock-free counters agree with the walk.
pub fn prove<S: ChunkSource>(arena: &Arena<S>) -> Verification {
    let found = arena
        .verify()
        .unwrap_or_else(|violation| panic!("verify: {violation}"));
    let stats = arena.stats();
    let parts = [
        found.free_bytes,
        found.allocated_bytes,
        found.cached_bytes,
        found.in_transfer_bytes,
        found.deferred_bytes,
        found.metadata_bytes,
    ];
    assert_eq!(
        parts.iter().sum::<u64>(),
        found.owned_bytes,
        "states do not add up: {found:?}"
    );
    let counted = [
        stats.free_bytes,
        stats.allocated_bytes,
        stats.cached_bytes,
        stats.in_transfer_bytes,
        stats.deferred_bytes,
        stats.metadata_bytes,
    ];
    assert_eq!(counted, parts, "counters and block maps disagree");
    assert_eq!(
        (stats.chunks, stats.owned_bytes),
        (found.chunks, found.owned_bytes)
    );
    // Every split makes one block more and every merge one less.
    let fresh = u64::from(found.chunks) * (FREE_BLOCKS_OF_A_CHUNK + 1);
    assert_eq!(
        fresh + stats.splits,
        found.blocks + stats.merges,
        "splits and merges do not account for the blocks"
    );
    // The first chunk was the arena's before anything grew.
    let chunks = u64::from(stats.chunks) + u64::from(stats.huge_chunks);
    assert_eq!(1 + stats.grows, chunks + stats.releases);
    found
}

/// [`prove`], and that nothing is allocated, cached, or kept beyond one spare empty chunk: for
/// the end of a test, all objects freed and all workers detached.
pub fn prove_idle<S: ChunkSource>(arena: &Arena<S>) -> Verification {
    let found = prove(arena);
    assert_eq!(found.allocated_objects, 0, "objects leaked: {found:?}");
    assert_eq!(found.cached_bytes, 0, "a detached worker still caches");
    assert_eq!(arena.stats().workers, 0, "a worker is still attached");
    found
}

/// What the block map holds for the unit at `address`, which lies in a chunk of blocks of a live
/// arena: its state and order.
pub fn block_at(memory: Memory, address: u32) -> (BlockState, u32) {
    let map = (address & !(CHUNK_BYTES - 1)) + address % CHUNK_BYTES / UNIT_BYTES;
    // SAFETY: a chunk of blocks begins with its map, which stays readable while the arena lives.
    let byte = unsafe { memory.pointer::<u8>(map).read_volatile() };
    let extent = block_extent(byte).expect("a byte that a block may have");
    (block_state(byte), extent.order())
}

/// Every free block of the arena, read from its block maps: its address and order.
///
/// Reads `memory` from the arena's address on; the arena must live.
pub fn free_blocks<S: ChunkSource>(
    memory: Memory,
    arena: &Arena<S>,
) -> impl Iterator<Item = (u32, u32)> + use<S> {
    let layout = Layout::CURRENT;
    // SAFETY: header and maps stay readable for as long as the arena lives.
    let byte = move |address: u32| unsafe { memory.pointer::<u8>(address).read_volatile() };
    let kinds = arena.address() + layout.header_chunk_kinds;
    (0..layout.max_chunks)
        .filter(move |&chunk| byte(kinds + chunk) == 1)
        .flat_map(move |chunk| {
            let start = chunk * CHUNK_BYTES;
            (0..CHUNK_BYTES / UNIT_BYTES).filter_map(move |unit| {
                let map = byte(start + unit);
                let extent = block_extent(map).filter(|_| block_state(map).is_free())?;
                debug_assert!(extent.is_whole());
                Some((start + unit * UNIT_BYTES, extent.order()))
            })
        })
}
