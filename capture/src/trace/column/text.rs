//! Text and bytes.
//!
//! Text is stored as plain UTF-8, so that every tool reads it as text; Parquet's own dictionary encoding keeps
//! repeated text small. The reader asks for that dictionary as it is, so that all rows of a row group which repeat a
//! text share one allocation.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, Int32Array, StringArray, StringBuilder};
use arrow::datatypes::{DataType, Int32Type};
use compact_str::CompactString;

use super::Stored;

/// Bytes of a usual text, for a start.
const USUAL: usize = 16;

/// A type that is stored as text.
pub(crate) trait Word: Clone {
    fn text(&self) -> &str;
    /// The value of a text; `None` when no value has that text.
    fn parse(text: &str) -> Option<Self>;
}

impl Word for Arc<str> {
    fn text(&self) -> &str {
        self
    }

    fn parse(text: &str) -> Option<Self> {
        Some(text.into())
    }
}

impl Word for CompactString {
    fn text(&self) -> &str {
        self
    }

    fn parse(text: &str) -> Option<Self> {
        Some(text.into())
    }
}

/// The text column of a batch, with the values made of its dictionary so far.
pub(crate) struct Texts<T> {
    keys: Int32Array,
    dictionary: StringArray,
    made: Vec<Option<T>>,
}

impl<T: Word> Stored for T {
    type Builder = StringBuilder;
    type Values = Texts<T>;

    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn read_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
    }

    fn builder(rows: usize) -> Self::Builder {
        StringBuilder::with_capacity(rows, rows * USUAL)
    }

    #[inline]
    fn append(builder: &mut Self::Builder, value: Option<&Self>) {
        match value {
            Some(value) => builder.append_value(value.text()),
            None => builder.append_null(),
        }
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }

    fn load(array: &ArrayRef, previous: Option<Self::Values>) -> Option<Self::Values> {
        let array = array.as_dictionary_opt::<Int32Type>()?;
        let keys = array.keys().clone();
        let dictionary = array.values().as_string_opt::<i32>()?.clone();
        // Batches of one row group bring the same buffers. The old ones are still held here, so an equal address
        // cannot be a new dictionary.
        let made = match previous {
            Some(previous) if same(&previous.dictionary, &dictionary) => previous.made,
            _ => vec![None; dictionary.len()],
        };
        Some(Texts { keys, dictionary, made })
    }

    fn get(values: &mut Self::Values, row: usize) -> Result<Option<Self>, String> {
        if values.keys.is_null(row) {
            return Ok(None);
        }
        let key = usize::try_from(values.keys.value(row)).unwrap_or(usize::MAX);
        let Some(made) = values.made.get_mut(key) else {
            return Err(format!("refers to entry {key} of a dictionary of {}", values.dictionary.len()));
        };
        if made.is_none() {
            if values.dictionary.is_null(key) {
                return Ok(None);
            }
            let text = values.dictionary.value(key);
            *made = Some(T::parse(text).ok_or_else(|| format!("has the unknown word {text:?}"))?);
        }
        Ok(made.clone())
    }
}

fn same(a: &StringArray, b: &StringArray) -> bool {
    a.len() == b.len()
        && a.value_offsets().as_ptr() == b.value_offsets().as_ptr()
        && a.value_data().as_ptr() == b.value_data().as_ptr()
}

impl Stored for Arc<[u8]> {
    type Builder = BinaryBuilder;
    type Values = BinaryArray;

    fn data_type() -> DataType {
        DataType::Binary
    }

    fn builder(_: usize) -> Self::Builder {
        BinaryBuilder::new()
    }

    fn append(builder: &mut Self::Builder, value: Option<&Self>) {
        match value {
            Some(value) => builder.append_value(value),
            None => builder.append_null(),
        }
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }

    fn load(array: &ArrayRef, _: Option<Self::Values>) -> Option<Self::Values> {
        array.as_binary_opt::<i32>().cloned()
    }

    fn get(values: &mut Self::Values, row: usize) -> Result<Option<Self>, String> {
        Ok(values.is_valid(row).then(|| values.value(row).into()))
    }
}
