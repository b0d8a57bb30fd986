//! How a row is stored: each field's Rust type decides its column's type.
//!
//! [`table!`](crate::trace::column::table) declares a row once; the schema, the builders, the decoder and the test
//! of `docs/trace.md` follow from that declaration.
//!
//! - [`Stored`]: one Rust type and its Arrow column (`number.rs`, `text.rs`, `list.rs`)
//! - [`Field`]: a `Stored` or an `Option` of one, which is what fields of rows are
//! - [`Collected`]: a column while it is filled
//! - [`Row`]: what `table!` writes for a row
//! - [`Column`]: name, type and description, for people and tests

mod list;
mod number;
mod table;
mod text;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use arrow::datatypes::{DataType, Schema, SchemaRef};

pub(crate) use table::table;
pub(crate) use text::Word;

/// One column of a table: what it is called, how it is stored, what it means.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name in the Parquet file, which is the name of the row's field.
    pub name: &'static str,
    /// What it means, in one paragraph.
    pub doc: &'static str,
    /// Whether it may be null.
    pub nullable: bool,
    /// True when a row cannot be read without it.
    pub(crate) required: bool,
    pub(crate) stored_as: fn() -> DataType,
    pub(crate) read_as: fn() -> DataType,
}

impl Column {
    pub(crate) const fn of<F: Field>(name: &'static str, doc: &'static str) -> Self {
        Column {
            name,
            doc,
            nullable: F::NULLABLE,
            required: F::REQUIRED,
            stored_as: F::Stored::data_type,
            read_as: F::Stored::read_type,
        }
    }

    /// Its Arrow type.
    pub fn data_type(&self) -> DataType {
        (self.stored_as)()
    }
}

/// A Rust type with a column type of its own.
pub(crate) trait Stored: Sized {
    /// Collects values while a file is being filled.
    type Builder: Send;
    /// The values of a batch being read.
    type Values;
    /// What a column that is not there reads as, when rows can do without it.
    const ABSENT: Option<fn() -> Self> = None;

    fn data_type() -> DataType;
    /// The type to ask the Parquet reader for, where that is not the stored type.
    fn read_type() -> DataType {
        Self::data_type()
    }
    /// A builder that is going to get about so many rows.
    fn builder(rows: usize) -> Self::Builder;
    fn append(builder: &mut Self::Builder, value: Option<&Self>);
    fn finish(builder: &mut Self::Builder) -> ArrayRef;
    /// Takes over a batch's column; `previous` is what the last batch left, so that caches live on. `None` when the
    /// column has another type.
    fn load(array: &ArrayRef, previous: Option<Self::Values>) -> Option<Self::Values>;
    /// The value of a row; `None` is null. The error says what is wrong with the value.
    fn get(values: &mut Self::Values, row: usize) -> Result<Option<Self>, String>;
}

/// Rows that are turned into columns together: few enough that they stay in the processor's cache on the way.
pub(crate) const CHUNK: usize = 2048;

/// The values of a column so far. Most columns of most traces are empty, so that nulls are only counted until there is a value.
pub(crate) struct Collected<T: Stored> {
    nulls: usize,
    builder: Option<T::Builder>,
}

impl<T: Stored> Collected<T> {
    pub(crate) fn new() -> Self {
        Collected { nulls: 0, builder: None }
    }

    #[inline]
    pub(crate) fn push(&mut self, value: Option<&T>) {
        match &mut self.builder {
            Some(builder) => T::append(builder, value),
            None if value.is_none() => self.nulls += 1,
            None => self.begin(value),
        }
    }

    #[cold]
    fn begin(&mut self, value: Option<&T>) {
        let builder = self.builder.insert(T::builder(CHUNK));
        for _ in 0..std::mem::take(&mut self.nulls) {
            T::append(builder, None);
        }
        T::append(builder, value);
    }

    /// The column; nothing is collected afterwards.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        match self.builder.take() {
            Some(mut builder) => T::finish(&mut builder),
            None => new_null_array(&T::data_type(), std::mem::take(&mut self.nulls)),
        }
    }
}

/// The type of a row's field: a [`Stored`] type (never null), or an `Option` of one.
pub(crate) trait Field: Sized {
    type Stored: Stored;
    const NULLABLE: bool;
    const REQUIRED: bool;

    fn append(&self, values: &mut Collected<Self::Stored>);
    fn from_stored(value: Option<Self::Stored>) -> Option<Self>;
    /// The value where the column is not there.
    fn absent() -> Option<Self>;
}

impl<T: Stored> Field for T {
    type Stored = T;
    const NULLABLE: bool = false;
    const REQUIRED: bool = T::ABSENT.is_none();

    #[inline]
    fn append(&self, values: &mut Collected<T>) {
        values.push(Some(self));
    }

    fn from_stored(value: Option<T>) -> Option<Self> {
        value
    }

    fn absent() -> Option<Self> {
        T::ABSENT.map(|empty| empty())
    }
}

impl<T: Stored> Field for Option<T> {
    type Stored = T;
    const NULLABLE: bool = true;
    const REQUIRED: bool = false;

    #[inline]
    fn append(&self, values: &mut Collected<T>) {
        values.push(self.as_ref());
    }

    fn from_stored(value: Option<T>) -> Option<Self> {
        Some(value)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// A column that does not hold what it should.
#[derive(Debug)]
pub(crate) struct Invalid {
    pub(crate) column: &'static str,
    pub(crate) what: String,
}

/// A row of a table that [`table!`] declared.
pub(crate) trait Row: Sized + Send + 'static {
    type Builders: Send;
    type Values;

    fn columns() -> &'static [Column];
    fn builders() -> Self::Builders;
    fn append(&self, builders: &mut Self::Builders);
    /// The collected columns, in the order of `columns`; the builders are empty again.
    fn finish(builders: &mut Self::Builders) -> Vec<ArrayRef>;
    fn load(batch: &RecordBatch, previous: Option<Self::Values>) -> Result<Self::Values, Invalid>;
    fn get(values: &mut Self::Values, row: usize) -> Result<Self, Invalid>;

    fn schema() -> SchemaRef {
        let fields = Self::columns()
            .iter()
            .map(|column| arrow::datatypes::Field::new(column.name, column.data_type(), column.nullable));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}

/// Loads the column of one field; `None` when the file does not have it and can do without.
pub(crate) fn load<F: Field>(
    name: &'static str,
    batch: &RecordBatch,
    previous: Option<<F::Stored as Stored>::Values>,
) -> Result<Option<<F::Stored as Stored>::Values>, Invalid> {
    let Some(array) = batch.column_by_name(name) else {
        return if F::REQUIRED { Err(Invalid { column: name, what: "is missing".into() }) } else { Ok(None) };
    };
    match F::Stored::load(array, previous) {
        Some(values) => Ok(Some(values)),
        None => {
            let what = format!("has type {}, expected {}", array.data_type(), F::Stored::data_type());
            Err(Invalid { column: name, what })
        }
    }
}

/// The value of one field in one row.
pub(crate) fn get<F: Field>(
    name: &'static str,
    values: &mut Option<<F::Stored as Stored>::Values>,
    row: usize,
) -> Result<F, Invalid> {
    let value = match values {
        Some(values) => F::from_stored(F::Stored::get(values, row).map_err(|what| Invalid { column: name, what })?),
        None => F::absent(),
    };
    value.ok_or_else(|| Invalid { column: name, what: "is null, and may not be".into() })
}
