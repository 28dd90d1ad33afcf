//! What checking mode found in memory that a program should not have written.

use core::fmt;

/// How the program came to write there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[repr(u8)]
pub enum DamageKind {
    /// Into an object after it was freed.
    AfterFree = 1,
    /// Behind the bytes that were asked for, inside the object's block.
    BehindObject = 2,
}

/// A byte that somebody wrote and nobody owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
pub struct Damage {
    /// How.
    pub kind: DamageKind,
    /// The object: a byte offset in the memory.
    pub address: u32,
    /// Where in it, in bytes from its start: the first such byte.
    pub offset: u32,
    /// What was found there.
    pub found: u8,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            offset,
            found,
            ..
        } = *self;
        let how = match self.kind {
            DamageKind::AfterFree => "written after it was freed",
            DamageKind::BehindObject => "written behind the bytes that were asked for",
        };
        write!(
            f,
            "the object at {address:#x} was {how}: {found:#04x} at offset {offset:#x}"
        )
    }
}
