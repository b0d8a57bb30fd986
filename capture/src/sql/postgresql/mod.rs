//! Facts by PostgreSQL's own parser.
//!
//! The parse tree comes across as protobuf and is read in two ways: the statement itself by its type (`kind`), and
//! whatever stands below it at any depth by one generic walk (`walk`), so that no kind of node can hide a function
//! call or a lock. Where the tree is too deep or too large to be read, the parser's summary stands in (`summary`).
//!
//! [`body`] reads the bodies of functions and procedures; those in PL/pgSQL are taken apart by a reader of our own
//! (`plpgsql`), which leaves the SQL in them to the parser.

mod body;
mod constant;
mod effect;
mod kind;
mod plpgsql;
mod summary;
mod walk;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pg_query::NodeEnum;

use super::{Facts, Statement};
pub use body::body;

/// A text longer than this is not read as a tree, which takes some fifty times its size.
const LONGEST: usize = 1 << 20;
/// What the parser says when its stack is used up, and the stack for a second try: it uses at most 2 MiB, and leaves
/// half a MiB untouched.
const TOO_DEEP: &str = "stack depth limit exceeded";
const STACK: usize = 4 << 20;

/// The facts of a PostgreSQL text, by the parser of PostgreSQL 18. Meant for once per shape: it takes 0.1 to 1 ms.
///
/// Never fails: a text that PostgreSQL would refuse gives facts with an `error`.
pub fn facts(sql: &str) -> Facts {
    // The binding to the parser panics on some trees that it does not expect.
    match catch_unwind(AssertUnwindSafe(|| parse(sql))) {
        Ok(Ok(statements)) => Facts { statements, error: None },
        Ok(Err(error)) => Facts { statements: Vec::new(), error: Some(error) },
        Err(_) => Facts { statements: Vec::new(), error: Some("the parser gave up on this text".to_owned()) },
    }
}

fn parse(sql: &str) -> Result<Vec<Statement>, String> {
    let deep = match parse_here(sql) {
        Err(message) if message == TOO_DEEP => message,
        result => return result,
    };
    // The parser measures the stack that it runs on; a thread of our own gives it all that it can use.
    let spawned = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        thread.spawn_scoped(scope, || parse_here(sql)).map(|thread| thread.join().unwrap_or(Err(deep.clone())))
    });
    spawned.unwrap_or(Err(deep))
}

fn parse_here(sql: &str) -> Result<Vec<Statement>, String> {
    if sql.len() > LONGEST {
        return summary::statements(sql);
    }
    match pg_query::parse(sql, 0) {
        Ok(result) => {
            let nodes = result.protobuf.stmts.iter().filter_map(|raw| raw.stmt.as_ref()?.node.as_ref());
            Ok(nodes.map(statement).collect())
        }
        // The tree nests deeper than protobuf's encoder or decoder allows; the summary is found without either.
        Err(pg_query::Error::Decode(_)) => summary::statements(sql),
        Err(pg_query::Error::Parse(message)) if message == TOO_DEEP => summary::statements(sql),
        Err(pg_query::Error::Parse(message)) => Err(message),
        Err(error) => Err(error.to_string()),
    }
}

fn statement(node: &NodeEnum) -> Statement {
    let kind = kind::of(node);
    let mut statement = walk::found_below(node, kind);
    effect::settle(&mut statement, node);
    statement
}

#[cfg(test)]
mod tests;
