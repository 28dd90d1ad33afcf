//! Placeholder replaced by the first real module of this crate.
