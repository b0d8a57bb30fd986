//! `shapes.parquet`: the statements of the trace with their literals removed.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::column::table;
use crate::sql;

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
        /// What each of its statements does (`read`, `write`, `lock`, `session`, `transaction`, `utility`); null when the
        /// parser did not understand it, or when there were too many shapes to parse them all.
        pub effects: Option<Vec<Box<str>>>,
        /// Tables that it names, schema included where it was written; empty when not understood.
        pub tables: Vec<Box<str>>,
        /// Functions that it calls, schema included where it was written; empty when not understood.
        pub functions: Vec<Box<str>>,
    }
}

/// Shapes beyond this number get no facts: a workload with more builds its statements by hand, and parsing them all
/// would keep the end of a recording waiting.
const WITH_FACTS: usize = 20_000;

impl Shape {
    /// The shapes that a capture collected, with their facts.
    pub fn collected<'a>(shapes: impl IntoIterator<Item = &'a sql::Shape>) -> impl Iterator<Item = Shape> {
        shapes.into_iter().enumerate().map(|(number, shape)| Shape::new(shape, number < WITH_FACTS))
    }

    fn new(shape: &sql::Shape, with_facts: bool) -> Self {
        let facts = with_facts.then(|| shape.dialect.facts(&shape.sample));
        let known = facts.as_ref().is_some_and(|facts| facts.error.is_none());
        let facts = facts.unwrap_or_default();
        let statements = || facts.statements.iter();
        let relations = statements().flat_map(|statement| statement.reads.iter().chain(&statement.writes));
        let functions = statements().flat_map(|statement| &statement.functions);
        Shape {
            shape_id: shape.id,
            text: shape.text.as_str().into(),
            sample: shape.sample.as_str().into(),
            count: shape.count,
            effects: known.then(|| statements().map(|statement| statement.effect.as_str().into()).collect()),
            tables: distinct(relations),
            functions: distinct(functions),
        }
    }
}

fn distinct(names: impl Iterator<Item = impl ToString>) -> Vec<Box<str>> {
    let names: BTreeSet<Box<str>> = names.map(|name| name.to_string().into()).collect();
    names.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sql: &str) -> Shape {
        let mut shapes = sql::Shapes::new(sql::Dialect::Postgresql);
        shapes.id(sql);
        Shape::collected(shapes.iter()).next().expect("one shape")
    }

    #[test]
    fn a_shape_names_effects_tables_and_functions() {
        let shape = shape("BEGIN; INSERT INTO shop.log SELECT now(), id FROM users WHERE id = 5");
        assert_eq!(shape.effects.expect("understood"), ["transaction".into(), "write".into()] as [Box<str>; 2]);
        assert_eq!(shape.tables, ["shop.log".into(), "users".into()] as [Box<str>; 2]);
        assert_eq!(shape.functions, ["now()".into()] as [Box<str>; 1]);
    }

    #[test]
    fn what_the_parser_does_not_understand_has_no_effects() {
        let shape = shape("SELEC 1");
        assert_eq!(shape.effects, None);
        assert!(shape.tables.is_empty());
    }
}
