//! Heaps that are measured elsewhere: in another module on a memory of its own, or by the host's
//! script. They take turns with the heaps of this module in one run.
//!
//! A foreign heap is a JavaScript object `{ allocator, config, front, fits, round }`: names, the
//! names of the benchmarks that it has a part in (all of the usual ones when there are none), and a
//! function from a cell and a plan to a sample, all three as JSON. The call returns when the round
//! is over.

use anyhow::{Result, anyhow};
use js_sys::JsString;
use wasm_bindgen::prelude::*;

use crate::cell::{Bench, Cell};
use crate::contender::{self, Contender};
use crate::crew::Crew;
use crate::measure::{Plan, Sample};

#[wasm_bindgen]
extern "C" {
    /// A heap as the host's script describes it.
    pub type Foreign;
    #[wasm_bindgen(method, getter)]
    fn allocator(this: &Foreign) -> String;
    #[wasm_bindgen(method, getter)]
    fn config(this: &Foreign) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn front(this: &Foreign) -> Option<String>;
    #[wasm_bindgen(method, catch)]
    fn round(this: &Foreign, cell: &str, plan: &str) -> Result<JsString, JsValue>;
}

/// A foreign heap among the others.
pub fn contender(foreign: Foreign) -> Contender<'static> {
    let front = foreign.front();
    Contender {
        allocator: foreign.allocator(),
        config: foreign.config(),
        // Fronts are measured in the benchmark about them, peers in all others but Warena's own.
        fits: |own, cell| match cell.bench {
            Bench::Fronts => own.front.is_some(),
            bench => own.front.is_none() && !bench.is_own(),
        },
        front,
        round: Box::new(move |_crew, cell, plan| {
            let (cell, plan) = (serde_json::to_string(cell)?, serde_json::to_string(plan)?);
            let sample = foreign.round(&cell, &plan).map_err(exception)?;
            Ok(serde_json::from_str(&String::from(sample))?)
        }),
    }
}

/// The names of the heaps that this module offers to another.
pub fn offered() -> Vec<String> {
    let names = contender::all().into_iter().map(|heap| heap.allocator);
    names.collect()
}

/// A round of one of them, as [`Foreign`] says.
pub fn round(crew: &Crew, index: usize, cell: &str, plan: &str) -> Result<String> {
    let heaps = contender::all();
    let heap = heaps.get(index);
    let heap = heap.ok_or_else(|| anyhow!("this module has no heap {index}"))?;
    let (cell, plan): (Cell, Plan) = (serde_json::from_str(cell)?, serde_json::from_str(plan)?);
    let sample: Sample = (heap.round)(crew, &cell, &plan)?;
    Ok(serde_json::to_string(&sample)?)
}

/// What JavaScript threw, as text.
fn exception(thrown: JsValue) -> anyhow::Error {
    let text = thrown.dyn_ref::<js_sys::Error>().map_or_else(
        || format!("{thrown:?}"),
        |error| String::from(error.message()),
    );
    anyhow!("{text}")
}
