//! Any bytes are a script of calls ([`Script::from_bytes`]), which the model test's own interpreter
//! runs against the oracle; a panic of either is a find.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warena_tests::model::Script;

fuzz_target!(|bytes: &[u8]| Script::from_bytes(bytes).run());
