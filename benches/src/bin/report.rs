//! Makes what is published of records: `report RECORD…` writes the charts and `README.md` beside the
//! first record, and the generated part of the project's `README.md`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use warena_benches::record::Record;
use warena_benches::report::{CHARTED, chart, chart_file, full, insert, overview};

/// The folder of records, seen from the project's README.
const FOLDER: &str = "benches/record";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    ensure!(
        !paths.is_empty(),
        "no record is named: they are in {FOLDER}"
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root.join(FOLDER);
    let records = paths.iter().map(|path| Record::read(path));
    let records = records.collect::<Result<Vec<_>>>()?;
    for record in &records {
        for bench in CHARTED {
            let file = folder.join(chart_file(&record.origin.host, bench));
            if chart::draw(record, bench, &file)? {
                println!("{}", file.display());
            }
        }
    }
    let files = paths.iter().map(|path| {
        let name = path.file_name().context("a record is a file")?;
        Ok(name.to_string_lossy().into_owned())
    });
    let files = files.collect::<Result<Vec<_>>>()?;
    write(&folder.join("README.md"), &full::text(&records, &files))?;
    let readme = root.join("README.md");
    let page = std::fs::read_to_string(&readme)
        .with_context(|| format!("cannot read {}", readme.display()))?;
    write(&readme, &insert(&page, &overview::text(&records, FOLDER))?)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}
