//! Why a call was refused: a code that programs compare and a message that people read.
//!
//! A refused call leaves the error of the core as it is; code and message are made of it when the
//! package asks for them. The codes are listed once, here: the enum, its names and the TypeScript type all come from
//! that list. Every error of the core is sorted into them without a default, so that a new one
//! there does not compile here until it has a code.

use crate::answer::{leave_figures, leave_text};
use std::cell::Cell;
use std::fmt::Display;
use warena::{AllocError, ArenaError, AttachError, Busy, FreeError, ReallocError, Violation};
use wasm_bindgen::prelude::*;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What kind of refusal.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        /// The names of all codes, by their numbers.
        pub(crate) const CODES: &[&str] = &[$(stringify!($name)),*];

        #[wasm_bindgen(typescript_custom_section)]
        const CODE_TYPE: &'static str = concat!(
            "/** Why the allocator refused a call. */\n",
            "export type RefusalCode =" $(, "\n  | '", stringify!($name), "'")*, ";\n",
        );
    };
}

codes! {
    /// A size that nothing can be allocated for.
    InvalidSize,
    /// Larger than any memory, or than a chunk where one block must hold it.
    TooLarge,
    /// Not a power of two, or above a chunk.
    BadAlignment,
    /// Nothing of that size, or not as many of it, can be reserved.
    NotCached,
    /// No memory left.
    OutOfMemory,
    /// The heap is locked, and this agent may not wait.
    Busy,
    /// Not a multiple of a unit.
    Unaligned,
    /// Inside a block.
    Interior,
    /// In no chunk of the arena.
    Foreign,
    /// The allocator's own.
    Metadata,
    /// Returned to the heap already, or never allocated.
    NotAllocated,
    /// Freed already, and still in a cache.
    DoubleFree,
    /// A setting out of its range.
    InvalidOption,
    /// No arena there.
    InvalidHandle,
    /// An arena of another layout.
    VersionMismatch,
    /// Every slot is taken.
    NoSlot,
    /// The arena is not in order.
    Corrupt,
}

/// A refusal as the package gets it.
struct Refusal {
    code: Code,
    /// The block that a proof stopped at.
    pointer: Option<u32>,
}

impl Refusal {
    /// Leaves the message, and says what kind it is of.
    fn new(code: Code, message: impl Display) -> Self {
        leave_text(message);
        Self {
            code,
            pointer: None,
        }
    }
}

impl From<AllocError> for Refusal {
    fn from(error: AllocError) -> Self {
        let code = match error {
            AllocError::ZeroSize => Code::InvalidSize,
            AllocError::TooLarge => Code::TooLarge,
            AllocError::OutOfMemory => Code::OutOfMemory,
            AllocError::Busy => Code::Busy,
            AllocError::ShortArray => Code::InvalidSize,
            AllocError::BadAlignment => Code::BadAlignment,
            AllocError::NotCached => Code::NotCached,
        };
        Self::new(code, error)
    }
}

impl From<FreeError> for Refusal {
    fn from(error: FreeError) -> Self {
        let code = match error {
            FreeError::Foreign => Code::Foreign,
            FreeError::Unaligned => Code::Unaligned,
            FreeError::Interior => Code::Interior,
            FreeError::Metadata => Code::Metadata,
            FreeError::NotAllocated => Code::NotAllocated,
            FreeError::Cached | FreeError::InTransfer | FreeError::Deferred => Code::DoubleFree,
        };
        Self::new(code, error)
    }
}

impl From<ReallocError> for Refusal {
    fn from(error: ReallocError) -> Self {
        match error {
            ReallocError::Pointer(error) => error.into(),
            ReallocError::Size(error) => error.into(),
        }
    }
}

impl From<ArenaError> for Refusal {
    fn from(error: ArenaError) -> Self {
        let code = match error {
            ArenaError::Config(_) => Code::InvalidOption,
            ArenaError::OutOfMemory => Code::OutOfMemory,
            ArenaError::NotAnArena => Code::InvalidHandle,
            ArenaError::Version(_) => Code::VersionMismatch,
            ArenaError::Busy => Code::Busy,
        };
        Self::new(code, error)
    }
}

impl From<AttachError> for Refusal {
    fn from(error: AttachError) -> Self {
        match error {
            AttachError::NoSlot => Self::new(
                Code::NoSlot,
                "every slot is taken; detach a worker or create the arena with more maximumWorkers",
            ),
            AttachError::OutOfMemory => Self::new(Code::OutOfMemory, error),
            AttachError::Busy => Self::new(Code::Busy, error),
        }
    }
}

impl From<Busy> for Refusal {
    fn from(busy: Busy) -> Self {
        AllocError::from(busy).into()
    }
}

impl From<Violation> for Refusal {
    fn from(violation: Violation) -> Self {
        let pointer = match violation {
            Violation::Busy => return Busy.into(),
            Violation::NoBlock { address, .. }
            | Violation::Misplaced { address, .. }
            | Violation::Overlap { address, .. }
            | Violation::Uncoalesced { address, .. }
            | Violation::FreeList { address, .. }
            | Violation::Entry { address, .. }
            | Violation::HugeRun { address, .. }
            | Violation::Twice { address }
            | Violation::Lost { address, .. }
            | Violation::Shadow { address, .. } => Some(address),
            Violation::Damaged(damage) => Some(damage.address),
            Violation::Counter { .. } => None,
        };
        Self {
            pointer,
            ..Self::new(Code::Corrupt, violation)
        }
    }
}

macro_rules! left {
    ($($error:ident,)*) => {
        /// An error of the core as it was left.
        #[derive(Clone, Copy)]
        pub(crate) enum Left {
            $($error($error),)*
        }

        $(impl From<$error> for Left {
            fn from(error: $error) -> Self {
                Self::$error(error)
            }
        })*

        impl From<Left> for Refusal {
            fn from(left: Left) -> Self {
                match left {
                    $(Left::$error(error) => error.into(),)*
                }
            }
        }
    };
}

left! {
    AllocError,
    ArenaError,
    AttachError,
    Busy,
    FreeError,
    ReallocError,
    Violation,
}

thread_local! {
    static LEFT: Cell<Option<Left>> = const { Cell::new(None) };
}

/// Leaves an error for [`take_refusal`].
#[cold]
pub(crate) fn leave(error: impl Into<Left>) {
    LEFT.set(Some(error.into()));
}

/// Whether a call was done; if it was refused, the reason is left behind.
pub(crate) fn done(result: Result<(), impl Into<Left>>) -> bool {
    result.map_err(leave).is_ok()
}

/// Why the agent's last call was refused: the number of the code from 1 on; 0 when none was since the
/// last time that this was asked. The message is left, and as a figure the pointer that it is about.
#[wasm_bindgen]
pub fn take_refusal() -> u32 {
    let Some(left) = LEFT.take() else {
        return 0;
    };
    let refusal = Refusal::from(left);
    leave_figures(&refusal.pointer);
    refusal.code as u32 + 1
}
