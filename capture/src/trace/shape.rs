//! `shapes.parquet`: the statements of the trace with their literals removed.

use std::sync::Arc;

use super::column::table;

table! {
    /// One shape: a statement with its literals removed, and what its text alone tells.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Shape [ShapeBuilders, ShapeValues] {
        /// Digest of `text`; `shape_id` of the requests.
        pub shape_id: u64,
        /// The statement with its literals removed.
        pub text: Arc<str>,
        /// The first statement of this shape, as sent.
        pub sample: Arc<str>,
        /// Requests of this shape.
        pub count: u64,
        /// What the statement does (`read`, `write`, `lock`, `session`, `transaction`, `utility`); null when the parser did
        /// not understand it.
        pub effect: Option<Arc<str>>,
        /// Tables that it names, as written, schema included where it was; empty when not understood.
        pub tables: Vec<Box<str>>,
        /// Functions that it calls, as written; empty when not understood.
        pub functions: Vec<Box<str>>,
    }
}
