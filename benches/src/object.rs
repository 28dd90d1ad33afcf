//! What workloads write into their objects, so that a heap which is wrong is found out.
//!
//! Every object carries a stamp made of its address and its owner, checked when it is freed: an
//! object that two producers hold at once has the stamp of only one of them.

use std::ptr::NonNull;

use anyhow::{Error, Result, anyhow};

use crate::heap::Producer;
use crate::sizes::layout;

/// The beginning of every object.
#[repr(C)]
pub struct Object {
    /// Links objects into a list.
    pub next: *mut Object,
    /// The stamp of its owner.
    pub stamp: u32,
    /// The bytes that were asked for.
    pub size: u32,
}

/// The smallest objects, in bytes, that have room for what is written into them.
pub const LEAST_SIZE: usize = size_of::<Object>();

/// Says "stamped", and keeps zeroed memory from passing as an object of producer 0.
const MARK: u32 = 0x57a3_b000;

/// The stamp of `owner` in the object at this address.
#[inline(always)]
pub fn stamp(object: *const Object, owner: u32) -> u32 {
    object as usize as u32 ^ MARK ^ owner
}

/// Whose stamp an object carries.
///
/// # Safety
///
/// The object is allocated and stamped, and nobody else uses it.
#[inline(always)]
pub unsafe fn owner_of(object: *const Object) -> u32 {
    // SAFETY: the caller's promise.
    let found = unsafe { (*object).stamp };
    found ^ object as usize as u32 ^ MARK
}

/// Allocates an object of `size` bytes, at least [`LEAST_SIZE`], stamps it and links it to `next`.
#[inline(always)]
pub fn make<P: Producer>(
    producer: &mut P,
    size: usize,
    owner: u32,
    next: *mut Object,
) -> Result<*mut Object> {
    let Some(object) = producer.alloc(layout(size)) else {
        return Err(no_memory(size));
    };
    Ok(sign(object, size, owner, next))
}

/// Stamps a fresh object of `size` bytes.
#[inline(always)]
pub fn sign(object: NonNull<u8>, size: usize, owner: u32, next: *mut Object) -> *mut Object {
    let object = object.cast::<Object>().as_ptr();
    let content = Object {
        next,
        stamp: stamp(object, owner),
        size: size as u32,
    };
    // SAFETY: a fresh object of at least `LEAST_SIZE` bytes, aligned to 16.
    unsafe { object.write(content) };
    object
}

/// Reads an object and checks that it carries the stamp of `owner`.
///
/// # Safety
///
/// The object is allocated, and the caller's.
#[inline(always)]
pub unsafe fn check(object: *const Object, owner: u32) -> Result<Object> {
    // SAFETY: the caller's promise.
    let found = unsafe { object.read() };
    if found.stamp != stamp(object, owner) {
        return Err(wrong_stamp(object, found.stamp, owner));
    }
    Ok(found)
}

/// Frees an object of `size` bytes.
///
/// # Safety
///
/// The object is allocated with this size, the caller's, and not used again.
#[inline(always)]
pub unsafe fn free<P: Producer>(producer: &mut P, object: *mut Object, size: usize) -> Result<()> {
    // SAFETY: an allocated object is not at null.
    let pointer = unsafe { NonNull::new_unchecked(object.cast()) };
    // SAFETY: the caller's promise.
    if !unsafe { producer.free(pointer, layout(size)) } {
        return Err(refused(object));
    }
    Ok(())
}

/// There was no memory for an object.
#[cold]
#[inline(never)]
pub fn no_memory(size: usize) -> Error {
    anyhow!("no memory for an object of {size:#x} bytes")
}

#[cold]
#[inline(never)]
fn wrong_stamp(object: *const Object, found: u32, owner: u32) -> Error {
    let expected = stamp(object, owner);
    anyhow!(
        "the object at {object:p} carries the stamp {found:#x}, but {expected:#x} is that of its \
         owner, producer {owner}: somebody else was given the same object"
    )
}

/// The heap did not take an object back.
#[cold]
#[inline(never)]
pub fn refused(object: *const Object) -> Error {
    anyhow!("the heap refused to free its object at {object:p}")
}
