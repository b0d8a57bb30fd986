//! The statements of a run, by shape.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use splitproof_capture::sql::Dialect;
use splitproof_capture::trace::Request;
use splitproof_replay::catalog::Catalog;

use super::statement::Statement;
use crate::comparison::{Example, Shape, ShapeId, UnknownShape};
use crate::findings::example;
use crate::intent::{Judge, RequestView, Session, Verdict};

/// What is known of one shape.
struct Known {
    statement: Arc<Statement>,
    text: Arc<str>,
    requests: u64,
    example: Example,
}

/// The statements of a run, each judged once.
pub struct Statements {
    judge: Judge,
    shapes: HashMap<u64, Known>,
    nothing: Arc<Statement>,
}

impl Statements {
    /// No statement yet; dialect and catalog are those of the pair, the catalog where it is known.
    pub fn new(dialect: Dialect, catalog: Option<Arc<Catalog>>) -> Self {
        Statements {
            judge: Judge::new(dialect, catalog),
            shapes: HashMap::new(),
            nothing: Arc::new(Statement::default()),
        }
    }

    /// Where the session's next request belongs.
    pub(super) fn judge(&mut self, session: &mut Session, request: &Request) -> Verdict {
        session.judge(&mut self.judge, &RequestView::from(request))
    }

    /// The statement of a request; one without text does nothing that is known.
    pub fn of(&mut self, request: &Request) -> Arc<Statement> {
        let Some(known) = self.known(request) else { return self.nothing.clone() };
        known.requests += 1;
        known.statement.clone()
    }

    /// The statement that a request prepares, which executes nothing yet.
    pub(super) fn prepared(&mut self, request: &Request) -> Arc<Statement> {
        self.known(request).map(|known| known.statement.clone()).unwrap_or_default()
    }

    fn known(&mut self, request: &Request) -> Option<&mut Known> {
        let sql = request.sql.as_deref()?;
        let id = request.shape_id.unwrap_or_else(|| self.judge.dialect().shape_id(sql));
        let profile = self.judge.profile(Some(id), sql);
        let dialect = self.judge.dialect();
        Some(self.shapes.entry(id).or_insert_with(|| Known {
            statement: Arc::new(Statement::of(&profile)),
            text: dialect.normalize(sql).into(),
            requests: 0,
            example: example(request, Vec::new()),
        }))
    }

    /// The shape's text.
    pub fn text(&self, request: &Request) -> Arc<str> {
        let id = request.shape_id.or_else(|| request.sql.as_deref().map(|sql| self.judge.dialect().shape_id(sql)));
        id.and_then(|id| self.shapes.get(&id)).map_or_else(|| Arc::from(""), |known| known.text.clone())
    }

    /// The texts of all shapes.
    pub fn texts(&self) -> HashMap<u64, Arc<str>> {
        self.shapes.iter().map(|(&id, known)| (id, known.text.clone())).collect()
    }

    /// Functions of which nothing is known, with the requests that call them.
    pub fn unknown_functions(&self) -> BTreeMap<String, u64> {
        let mut functions = BTreeMap::new();
        for known in self.shapes.values() {
            for function in &known.statement.unknown_functions {
                *functions.entry(function.to_string()).or_default() += known.requests;
            }
        }
        functions
    }

    /// Shapes that the parser does not understand, most frequent first.
    pub fn parse_errors(&self) -> Vec<UnknownShape> {
        let mut list: Vec<UnknownShape> = self
            .shapes
            .iter()
            .filter_map(|(&id, known)| {
                Some(UnknownShape {
                    shape: Shape { id: ShapeId(id), text: known.text.to_string() },
                    requests: known.requests,
                    reason: known.statement.parse_error.as_deref()?.to_string(),
                    example: known.example.clone(),
                })
            })
            .collect();
        list.sort_by_key(|shape| (std::cmp::Reverse(shape.requests), shape.shape.id));
        list
    }
}
