//! The native tests of Warena, one topic a module; what they share is the library of this crate.

mod busy;
mod caches;
mod churn;
mod figures;
mod frees;
mod growth;
mod model;
mod proofs;
mod selftests;
mod sizes;
mod threads;
mod traces;
