//! The fuzzer's corpus, replayed: every script that once reached something new still agrees with
//! the oracle, on any toolchain.

use std::path::Path;
use warena_tests::model::Script;

#[test]
fn every_script_of_the_corpus_agrees_with_the_oracle() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/script");
    let mut scripts = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let script = Script::from_bytes(&bytes);
        let run = std::panic::AssertUnwindSafe(|| script.run());
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("{}: {script:#?}", path.display());
            std::panic::resume_unwind(panic);
        }
        scripts += 1;
    }
    assert!(scripts > 0, "{} is empty", folder.display());
}
