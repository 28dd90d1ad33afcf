//! Figures and refusals as plain JavaScript objects, by way of JSON.
//!
//! One string crosses the border for all of an object's fields. And nothing of it is kept for the
//! next time: what an agent keeps in thread-local data with a destructor, the standard library lists
//! in a heap of its own, under a lock that nobody recovers from an agent which dies in it.

use js_sys::JSON;
use serde::Serialize;
use wasm_bindgen::prelude::*;

/// The value as an object of JavaScript's, with numbers for all integers.
pub(crate) fn plain(value: &impl Serialize) -> Result<JsValue, JsValue> {
    let text = serde_json::to_string(value).map_err(|error| JsError::new(&error.to_string()))?;
    JSON::parse(&text)
}
