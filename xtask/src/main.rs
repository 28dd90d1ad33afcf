//! The command line of the project.
fn main() {}
