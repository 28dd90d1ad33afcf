//! Every number in a value, in the order of its fields, into an array: a serializer that leaves out
//! all names. The package has the names from its build, in the same order.

use serde::ser::{
    Error as _, Impossible, Serialize, SerializeStruct, SerializeTuple, Serializer, StdError,
};
use std::cell::Cell;
use std::fmt::{self, Display};

/// Where the numbers go.
pub(super) struct Figures<'a> {
    left: std::slice::Iter<'a, Cell<f64>>,
}

impl<'a> Figures<'a> {
    pub(super) fn new(room: &'a [Cell<f64>]) -> Self {
        Self { left: room.iter() }
    }

    fn put(&mut self, figure: f64) -> Result<(), NoFigure> {
        let cell = self
            .left
            .next()
            .ok_or(NoFigure("more than there is room for"))?;
        cell.set(figure);
        Ok(())
    }
}

/// Why a value has no figures.
#[derive(Debug)]
pub(super) struct NoFigure(&'static str);

impl Display for NoFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no figures: {}", self.0)
    }
}

impl StdError for NoFigure {}

impl serde::ser::Error for NoFigure {
    fn custom<T: Display>(_: T) -> Self {
        Self("not of numbers alone")
    }
}

macro_rules! numbers {
    ($($name:ident $type:ty,)*) => {
        $(fn $name(self, value: $type) -> Result<(), NoFigure> {
            // Exact up to 2^53, beyond which nothing is counted.
            self.put(value as f64)
        })*
    };
}

macro_rules! others {
    ($($name:ident($($type:ty),*) -> $result:ty,)*) => {
        $(fn $name(self, $(_: $type),*) -> Result<$result, NoFigure> {
            Err(NoFigure::custom("another kind"))
        })*
    };
}

impl Serializer for &mut Figures<'_> {
    type Ok = ();
    type Error = NoFigure;
    type SerializeSeq = Impossible<(), NoFigure>;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Impossible<(), NoFigure>;
    type SerializeTupleVariant = Impossible<(), NoFigure>;
    type SerializeMap = Impossible<(), NoFigure>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<(), NoFigure>;

    numbers! {
        serialize_i8 i8,
        serialize_i16 i16,
        serialize_i32 i32,
        serialize_i64 i64,
        serialize_u8 u8,
        serialize_u16 u16,
        serialize_u32 u32,
        serialize_u64 u64,
        serialize_f32 f32,
        serialize_f64 f64,
    }

    fn serialize_bool(self, value: bool) -> Result<(), NoFigure> {
        self.put(f64::from(u8::from(value)))
    }

    /// Of what is not there, the figure is none.
    fn serialize_none(self) -> Result<(), NoFigure> {
        self.put(f64::NAN)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NoFigure> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NoFigure> {
        value.serialize(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, NoFigure> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, NoFigure> {
        Ok(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), NoFigure> {
        Err(NoFigure::custom("another kind"))
    }

    others! {
        serialize_char(char) -> (),
        serialize_str(&str) -> (),
        serialize_bytes(&[u8]) -> (),
        serialize_unit() -> (),
        serialize_unit_struct(&'static str) -> (),
        serialize_unit_variant(&'static str, u32, &'static str) -> (),
        serialize_seq(Option<usize>) -> Self::SerializeSeq,
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct,
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant,
        serialize_map(Option<usize>) -> Self::SerializeMap,
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant,
    }
}

impl SerializeTuple for &mut Figures<'_> {
    type Ok = ();
    type Error = NoFigure;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoFigure> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), NoFigure> {
        Ok(())
    }
}

impl SerializeStruct for &mut Figures<'_> {
    type Ok = ();
    type Error = NoFigure;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NoFigure> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), NoFigure> {
        Ok(())
    }
}
