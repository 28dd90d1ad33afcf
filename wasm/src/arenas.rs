//! The arenas of this memory, for whoever has to look after all of them.
//!
//! When an agent dies, what it left is reaped in every arena, by an agent that may be attached to
//! none of them. So each arena is entered in a list when it is made. An arena stays for as long as
//! its memory, so an entry is never taken out again, and the list is read without a lock.

use std::sync::atomic::{AtomicPtr, Ordering};
use wasm_bindgen::prelude::*;

struct Entry {
    /// The address of an arena's header.
    header: u32,
    /// The entry that was first when this one was made.
    next: *const Entry,
}

static FIRST: AtomicPtr<Entry> = AtomicPtr::new(std::ptr::null_mut());

/// Enters an arena.
pub(crate) fn enter(header: u32) {
    let next = std::ptr::null();
    let entry: &'static mut Entry = Box::leak(Box::new(Entry { header, next }));
    let mut first = FIRST.load(Ordering::Acquire);
    loop {
        entry.next = first;
        match FIRST.compare_exchange(first, entry, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return,
            Err(found) => first = found,
        }
    }
}

/// The header of the arena that was made `index` arenas ago; 0 when there are not so many. An
/// integer call: whoever asks may not be able to allocate yet.
#[wasm_bindgen]
pub fn arena_header(index: u32) -> u32 {
    let mut entry = FIRST.load(Ordering::Acquire).cast_const();
    for _ in 0..index {
        // SAFETY: entries are leaked, so whatever the list leads to stays, and is only read once
        // it is in the list.
        let Some(known) = (unsafe { entry.as_ref() }) else {
            break;
        };
        entry = known.next;
    }
    // SAFETY: as above.
    unsafe { entry.as_ref() }.map_or(0, |entry| entry.header)
}
