//! The answer of a query, row by row.

use arrow::array::{Array, BooleanArray, Float64Array, Int64Array, StringArray, StringViewArray};
use arrow::record_batch::RecordBatch;

use super::session::Error;

/// The answer of a query.
pub struct Records {
    query: &'static str,
    batches: Vec<RecordBatch>,
}

/// One row of an answer. The queries cast their columns to 64-bit integers, doubles, strings and booleans.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    query: &'static str,
    batch: &'a RecordBatch,
    row: usize,
}

impl Records {
    pub(super) fn new(query: &'static str, batches: Vec<RecordBatch>) -> Self {
        Records { query, batches }
    }

    /// The rows.
    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        self.batches
            .iter()
            .flat_map(move |batch| (0..batch.num_rows()).map(move |row| Record { query: self.query, batch, row }))
    }

    /// Turns every row into a value.
    pub fn read<T>(&self, read: impl Fn(Record<'_>) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        self.iter().map(read).collect()
    }
}

impl Record<'_> {
    fn cell<A: Array + 'static>(&self, column: &'static str, expected: &'static str) -> Result<Option<&A>, Error> {
        let array = self.batch.column_by_name(column).and_then(|array| array.as_any().downcast_ref::<A>());
        let array = array.ok_or(Error::Column { query: self.query, column, expected })?;
        Ok((!array.is_null(self.row)).then_some(array))
    }

    fn required<T>(&self, value: Option<T>, column: &'static str, expected: &'static str) -> Result<T, Error> {
        value.ok_or(Error::Column { query: self.query, column, expected })
    }

    /// An integer that may be null.
    pub fn maybe_int(&self, column: &'static str) -> Result<Option<i64>, Error> {
        Ok(self.cell::<Int64Array>(column, "an integer")?.map(|array| array.value(self.row)))
    }

    /// An integer.
    pub fn int(&self, column: &'static str) -> Result<i64, Error> {
        self.required(self.maybe_int(column)?, column, "an integer")
    }

    /// A count.
    pub fn count(&self, column: &'static str) -> Result<u64, Error> {
        Ok(self.maybe_int(column)?.unwrap_or(0).max(0).unsigned_abs())
    }

    /// A number that may be null.
    pub fn maybe_float(&self, column: &'static str) -> Result<Option<f64>, Error> {
        Ok(self.cell::<Float64Array>(column, "a number")?.map(|array| array.value(self.row)))
    }

    /// A number; null is zero, as an empty sum.
    pub fn float(&self, column: &'static str) -> Result<f64, Error> {
        Ok(self.maybe_float(column)?.unwrap_or(0.0))
    }

    /// A text that may be null.
    pub fn maybe_text(&self, column: &'static str) -> Result<Option<String>, Error> {
        // DataFusion's planner turns some texts into views, whatever its settings say: a NULL cast to text in a UNION is one.
        if let Ok(array) = self.cell::<StringViewArray>(column, "a text") {
            return Ok(array.map(|array| array.value(self.row).to_string()));
        }
        Ok(self.cell::<StringArray>(column, "a text")?.map(|array| array.value(self.row).to_string()))
    }

    /// A text; null is empty.
    pub fn text(&self, column: &'static str) -> Result<String, Error> {
        Ok(self.maybe_text(column)?.unwrap_or_default())
    }

    /// A flag; null is false.
    pub fn flag(&self, column: &'static str) -> Result<bool, Error> {
        Ok(self.cell::<BooleanArray>(column, "a flag")?.is_some_and(|array| array.value(self.row)))
    }
}
