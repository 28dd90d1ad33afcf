//! The native tests of Warena, one topic a module; what they share is the library of this crate.

mod busy;
mod caches;
mod checking;
mod churn;
mod corpus;
mod figures;
mod findings;
mod frees;
mod growth;
mod huge;
mod limits;
mod model;
mod nowait;
mod proofs;
mod reentry;
mod resize;
mod selftests;
mod shapes;
mod sizes;
mod threads;
mod traces;
