//! The benchmarks as a WebAssembly module on shared memory: what its workers call.
//!
//! The host's script instantiates the module once on its own thread, then in `producers` workers
//! that call [`serve`] and stay there, and in one more that calls [`run`] and coordinates them.
//! It waits on locks, so it is a worker as well: a page's main thread may not.
//!
//! A module of peers is instantiated in the same way on a memory of its own. Its coordinator is the
//! same worker, which calls [`measure`] when one of that module's heaps has its turn.

use std::alloc::{GlobalAlloc, Layout, System};

use js_sys::{Function, JsString};
use wasm_bindgen::prelude::*;

use crate::crew::Crew;
use crate::foreign::{self, Foreign};
use crate::options::{HELP, Options};
use crate::row;
use crate::suite::{self, Host};

static CREW: Crew = Crew::new();

/// In the first instance, for all: a panic becomes an exception with the panic's message, which
/// reaches the host's script as an error of the worker.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| {
        wasm_bindgen::throw_str(&panic.to_string())
    }));
}

/// The command line, understood.
#[wasm_bindgen]
pub struct Request(Options);

#[wasm_bindgen]
impl Request {
    /// Parses the arguments behind the program's own.
    #[wasm_bindgen(constructor)]
    pub fn new(arguments: Vec<String>) -> Result<Self, JsError> {
        Ok(Self(Options::parse(arguments).map_err(error)?))
    }

    /// What to print instead of running, if that was asked for.
    #[wasm_bindgen(getter)]
    pub fn help(&self) -> Option<String> {
        self.0.help.then(|| HELP.to_owned())
    }

    /// How many workers must serve.
    #[wasm_bindgen(getter)]
    pub fn producers(&self) -> usize {
        self.0.crew()
    }

    /// Whether a benchmark of this name is wanted.
    pub fn wants(&self, bench: &str) -> bool {
        self.0.benches.iter().any(|wanted| wanted.name() == bench)
    }

    /// Rounds of each heap in each cell.
    #[wasm_bindgen(getter)]
    pub fn rounds(&self) -> usize {
        self.0.rounds
    }

    /// The file that the rows are to be written to.
    #[wasm_bindgen(getter, js_name = jsonFile)]
    pub fn json_file(&self) -> Option<String> {
        let path = self.0.json.as_ref()?;
        Some(path.to_string_lossy().into_owned())
    }
}

/// Works as producer `index` until the run is over.
#[wasm_bindgen]
pub fn serve(index: usize) {
    may_wait();
    CREW.serve(index);
}

/// Runs what the arguments ask for, hands text to `print` as it goes on, and returns the rows as
/// JSON. The foreign heaps take turns with those of this module.
#[wasm_bindgen]
pub fn run(
    arguments: Vec<String>,
    host: &str,
    cores: usize,
    print: &Function,
    others: Vec<Foreign>,
) -> Result<String, JsError> {
    may_wait();
    let options = Options::parse(arguments).map_err(error)?;
    let host = Host {
        name: host,
        cores,
        print: &|text| {
            if let Err(exception) = print.call1(&JsValue::NULL, &JsString::from(text)) {
                wasm_bindgen::throw_val(exception);
            }
        },
    };
    let others = others.into_iter().map(foreign::contender).collect();
    let rows = suite::run(&options, &host, &CREW, others);
    CREW.dismiss();
    Ok(row::json(&rows.map_err(error)?)?)
}

/// The names of the heaps of this module, for the module that has the run.
#[wasm_bindgen]
pub fn offered() -> Vec<String> {
    foreign::offered()
}

/// A round of one of them: cell, plan and sample as JSON.
#[wasm_bindgen]
pub fn measure(index: usize, cell: &str, plan: &str) -> Result<String, JsError> {
    foreign::round(&CREW, index, cell, plan).map_err(error)
}

/// Allocates and frees an object of `bytes`, a multiple of 16, on the standard library's heap: for the
/// latency of a main thread, which the host measures. Whether there was memory.
#[wasm_bindgen]
pub fn system_pair(bytes: usize) -> bool {
    let Ok(layout) = Layout::from_size_align(bytes, 16) else {
        return false;
    };
    // SAFETY: the host asks for more than 0 bytes, and the object is freed as it was allocated.
    unsafe {
        let object = std::hint::black_box(System.alloc(layout));
        if object.is_null() {
            return false;
        }
        System.dealloc(object, layout);
    }
    true
}

/// The producers of this module may go.
#[wasm_bindgen]
pub fn dismiss() {
    CREW.dismiss();
}

/// Says to the program's heap what is true of every worker, but not known by itself.
fn may_wait() {
    ::warena::Global::set_may_wait(true);
}

/// An error as JavaScript catches it.
pub(crate) fn error(error: anyhow::Error) -> JsError {
    JsError::new(&format!("{error:#}"))
}
