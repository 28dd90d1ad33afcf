//! What can go wrong, one type for each kind of call. No error carries a string or allocates.

use core::fmt;

/// A setting of [`Config`](crate::Config) that is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The setting's name.
    pub setting: &'static str,
    /// What it was set to.
    pub value: u32,
    /// The least it may be.
    pub least: u32,
    /// The most it may be.
    pub most: u32,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is {}; it must be {} ..= {}",
            self.setting, self.value, self.least, self.most
        )
    }
}

/// Why an allocation was refused. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AllocError {
    /// A size of 0: there is nothing to point to.
    ZeroSize = 1,
    /// Larger than any memory can hold (4,095 MiB), or, in bulk, than a chunk can (512 KiB).
    TooLarge = 2,
    /// The memory is at its maximum and no block of the size is free, in the central heap, in
    /// this worker's cache or in a transfer cache.
    OutOfMemory = 3,
    /// This context may not wait, and the heap stayed locked for as long as it may spin.
    Busy = 4,
    /// `alloc_bulk`: the array is shorter than the number of objects asked for.
    ShortArray = 5,
    /// An alignment that is not a power of two, or above 1 MiB.
    BadAlignment = 6,
    /// `reserve`: this arena does not cache the size, or fewer objects than asked for.
    NotCached = 7,
}

impl AllocError {
    const ALL: [Self; 7] = [
        Self::ZeroSize,
        Self::TooLarge,
        Self::OutOfMemory,
        Self::Busy,
        Self::ShortArray,
        Self::BadAlignment,
        Self::NotCached,
    ];

    /// The error of this number, which is one that an error has.
    pub(crate) fn numbered(number: u32) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|&error| error as u32 == number)
            .unwrap_or(Self::OutOfMemory)
    }
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroSize => "size is 0; ask for at least 1 byte",
            Self::TooLarge => "larger than any memory: at most 0xfff00000 bytes, 0x80000 in bulk",
            Self::OutOfMemory => "out of memory: the memory is at its maximum; free something or make it with a larger maximum",
            Self::Busy => "the heap is locked and this context may not wait; try again",
            Self::BadAlignment => "the alignment must be a power of two, 1 ..= 0x100000",
            Self::NotCached => "not cached: reserve at most `capacity` objects of a cached order",
            Self::ShortArray => "the array is shorter than the number of objects asked for",
        })
    }
}

/// Why a free was refused. Nothing was changed and nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FreeError {
    /// Not in any chunk of this arena.
    Foreign = 1,
    /// In a chunk, but not a multiple of 16.
    Unaligned = 2,
    /// Inside an allocated block, not at its start.
    Interior = 3,
    /// The allocator's own: a chunk's block map, the arena's header, a slot.
    Metadata = 4,
    /// Free: freed already and returned to the central heap, or never allocated.
    NotAllocated = 5,
    /// Freed already: it sits in a worker's cache.
    Cached = 6,
    /// Freed already: it sits in a transfer cache.
    InTransfer = 7,
    /// Freed already: it waits on the deferred list.
    Deferred = 8,
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "foreign pointer: not in any chunk of this arena",
            Self::Unaligned => "unaligned pointer: every block starts at a multiple of 16",
            Self::Interior => "interior pointer: inside an allocated block, not at its start",
            Self::Metadata => "the allocator's own metadata, never allocated to anybody",
            Self::NotAllocated => "not allocated: freed already, or never allocated",
            Self::Cached => "double free: it is in a worker's cache already",
            Self::InTransfer => "double free: it is in a transfer cache already",
            Self::Deferred => "double free: it is on the deferred list already",
        })
    }
}

/// Why a block was not resized. It stays as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReallocError {
    /// The pointer is not an allocated block.
    Pointer(FreeError),
    /// The new size cannot be had.
    Size(AllocError),
}

impl fmt::Display for ReallocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pointer(error) => error.fmt(f),
            Self::Size(error) => error.fmt(f),
        }
    }
}

impl From<FreeError> for ReallocError {
    fn from(error: FreeError) -> Self {
        Self::Pointer(error)
    }
}

impl From<AllocError> for ReallocError {
    fn from(error: AllocError) -> Self {
        Self::Size(error)
    }
}

/// Why an arena was not made or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArenaError {
    /// A setting is out of its range.
    Config(ConfigError),
    /// The source has no chunk for the arena's own header, or no room for its tables.
    OutOfMemory,
    /// No arena at this address: it is not where a header can be, or holds something else.
    NotAnArena,
    /// An arena of another layout version: the one found there.
    Version(u32),
    /// This context may not wait, and the heap stayed locked for as long as it may spin.
    Busy,
}

impl fmt::Display for ArenaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::OutOfMemory => {
                f.write_str("out of memory: no chunk of 0x100000 bytes for the arena")
            }
            Self::NotAnArena => f.write_str("no arena at this address"),
            Self::Version(found) => write!(
                f,
                "arena of layout version {found}; this build reads version {}",
                crate::LAYOUT_VERSION
            ),
            Self::Busy => {
                f.write_str("the heap is locked and this context may not wait; try again")
            }
        }
    }
}

/// Why a worker could not attach. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AttachError {
    /// Every slot is taken: `max_workers` are attached.
    NoSlot = 1,
    /// No memory for a new slot.
    OutOfMemory = 2,
    /// This context may not wait, and the heap stayed locked for as long as it may spin.
    Busy = 3,
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSlot => "every slot is taken; detach a worker or raise max_workers",
            Self::OutOfMemory => "out of memory: no block for a new slot",
            Self::Busy => "the heap is locked and this context may not wait; try again",
        })
    }
}

/// Why nothing was reaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReapError {
    /// No slot of this number was ever made.
    NoSlot,
    /// It is the calling agent's own, which has not ended.
    Live,
    /// This context may not wait, and the heap stayed locked for as long as it may spin: by a living
    /// agent, or by another that has ended and is to be reaped first.
    Busy,
}

impl fmt::Display for ReapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSlot => "no such slot: none of this number was ever made",
            Self::Live => "the calling agent's own slot: only what an ended agent left is reaped",
            Self::Busy => "the heap is locked and this context may not wait; try again",
        })
    }
}

impl From<Busy> for ReapError {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

/// The heap stayed locked for as long as a context that may not wait may spin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        AllocError::Busy.fmt(f)
    }
}

impl From<Busy> for AllocError {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

impl From<Busy> for ArenaError {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

impl From<Busy> for AttachError {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

impl core::error::Error for ConfigError {}
impl core::error::Error for AllocError {}
impl core::error::Error for FreeError {}
impl core::error::Error for ReallocError {}
impl core::error::Error for ArenaError {}
impl core::error::Error for AttachError {}
impl core::error::Error for ReapError {}
impl core::error::Error for Busy {}
