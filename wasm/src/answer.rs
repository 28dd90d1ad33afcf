//! Answers: what a call has to say besides an integer, as figures and as a sentence.
//!
//! They are left in the agent's thread-local data, where the package reads them. So an agent has
//! nothing on the module's heap: when it ends, at whatever instruction, its stack and its
//! thread-local data are freed, and nothing of it stays. And who reaps it depends on no heap that it
//! may have left locked.

use serde::Serialize;
use std::cell::Cell;
use std::fmt::{self, Display, Write};
use wasm_bindgen::prelude::*;

mod figures;

use figures::Figures;

/// Room for the figures of the largest answer.
const FIGURES: usize = 256;
/// Room for a sentence, in bytes.
const TEXT: usize = 256;
/// Pointers that are passed in one call.
pub(crate) const PIECE: usize = 2048;

thread_local! {
    static FIGURES_LEFT: Cell<[f64; FIGURES]> = const { Cell::new([0.0; FIGURES]) };
    static TEXT_LEFT: Cell<[u8; TEXT]> = const { Cell::new([0; TEXT]) };
    static TEXT_LENGTH: Cell<usize> = const { Cell::new(0) };
    static POINTERS: Cell<[u32; PIECE]> = const { Cell::new([0; PIECE]) };
}

/// Leaves every number in `value`, in the order of its fields.
pub(crate) fn leave_figures(value: &impl Serialize) {
    FIGURES_LEFT.with(|left| {
        let mut figures = Figures::new(cells(left));
        if let Err(error) = value.serialize(&mut figures) {
            // What is left are values of the core, of a known size.
            unreachable!("{error}");
        }
    });
}

/// Leaves a sentence; what does not fit is cut off.
pub(crate) fn leave_text(value: impl Display) {
    struct Text<'a>(&'a [Cell<u8>]);
    impl Write for Text<'_> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let length = TEXT_LENGTH.get();
            for (cell, byte) in self.0[length..].iter().zip(text.bytes()) {
                cell.set(byte);
                TEXT_LENGTH.set(TEXT_LENGTH.get() + 1);
            }
            Ok(())
        }
    }
    TEXT_LENGTH.set(0);
    TEXT_LEFT.with(|left| {
        let written = write!(Text(cells(left)), "{value}");
        debug_assert!(written.is_ok(), "a cut sentence is no error");
    });
}

/// Leaves a sentence, and throws it as an error of JavaScript.
pub(crate) fn throw(value: impl Display) -> ! {
    leave_text(value);
    // On the stack, and nothing on the heap: what is thrown from here runs no destructor.
    let text = TEXT_LEFT.get();
    let used = text.get(..TEXT_LENGTH.get()).unwrap_or(&text);
    wasm_bindgen::throw_str(std::str::from_utf8(used).unwrap_or("a call of C was refused"))
}

/// The array through which pointers are passed, both ways.
pub(crate) fn with_pointers<T>(use_it: impl FnOnce(&[Cell<u32>]) -> T) -> T {
    POINTERS.with(|pointers| use_it(cells(pointers)))
}

fn cells<T, const N: usize>(array: &Cell<[T; N]>) -> &[Cell<T>] {
    let slice: &Cell<[T]> = array;
    slice.as_slice_of_cells()
}

/// Where this agent's figures are left: 64-bit floating-point numbers. Until its instance ends.
#[wasm_bindgen]
pub fn figures_address() -> u32 {
    FIGURES_LEFT.with(Cell::as_ptr) as u32
}

/// Where this agent's sentences are left, as UTF-8.
#[wasm_bindgen]
pub fn text_address() -> u32 {
    TEXT_LEFT.with(Cell::as_ptr) as u32
}

/// Bytes of the sentence that was left last.
#[wasm_bindgen]
pub fn text_length() -> u32 {
    TEXT_LENGTH.get() as u32
}

/// Where this agent passes pointers, of 32 bits each.
#[wasm_bindgen]
pub fn pointers_address() -> u32 {
    POINTERS.with(Cell::as_ptr) as u32
}
