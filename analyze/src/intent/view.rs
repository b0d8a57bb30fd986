//! What the judgement needs of a request.

use splitproof_capture::trace::{Kind, Outcome, Request, TransactionStatus};

/// What the judgement needs of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestView<'a> {
    /// What was asked.
    pub kind: Kind,
    /// The text; for an execute, that of its statement.
    pub sql: Option<&'a str>,
    /// The text's shape; `None` has it found.
    pub shape_id: Option<u64>,
    /// The prepared statement of a prepare, execute or close.
    pub statement: Option<&'a str>,
    /// The portal of an execute or fetch; MySQL: the number of the statement whose rows are fetched.
    pub portal: Option<&'a str>,
    /// How it ended. Only what ended well changes the session's state.
    pub outcome: Outcome,
    /// The error's code.
    pub error_code: Option<&'a str>,
    /// Transaction status that the server reported at the end of the request's pipeline group.
    pub transaction: Option<TransactionStatus>,
    /// Whether each statement commits itself, where the server told.
    pub autocommit: Option<bool>,
    /// The pipeline group.
    pub pipeline_group: Option<u32>,
}

impl<'a> RequestView<'a> {
    /// A text in the simple protocol that ended well, with nothing known of the server's report.
    pub fn query(sql: &'a str) -> Self {
        RequestView {
            kind: Kind::Query,
            sql: Some(sql),
            shape_id: None,
            statement: None,
            portal: None,
            outcome: Outcome::Ok,
            error_code: None,
            autocommit: None,
            transaction: None,
            pipeline_group: None,
        }
    }
}

impl<'a> From<&'a Request> for RequestView<'a> {
    fn from(request: &'a Request) -> Self {
        RequestView {
            kind: request.kind,
            sql: request.sql.as_deref(),
            shape_id: request.shape_id,
            statement: request.statement.as_deref(),
            portal: request.portal.as_deref().or(request.statement.as_deref()),
            outcome: request.outcome,
            error_code: request.error_code.as_deref(),
            autocommit: request.autocommit,
            transaction: request.transaction,
            pipeline_group: request.pipeline_group,
        }
    }
}
