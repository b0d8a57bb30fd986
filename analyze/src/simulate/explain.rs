//! One session of texts through a model.

use splitproof_capture::sql::{Dialect, StatementKind};
use splitproof_capture::trace::{Engine, Kind, Outcome, Request, TransactionStatus};

use super::{Decision, Model, Router};

/// A text with its decision.
#[derive(Clone, Debug)]
pub struct Step {
    /// The text.
    pub sql: String,
    /// Where it goes, and why.
    pub decision: Decision,
}

/// Who sends the texts.
#[derive(Clone, Debug, Default)]
pub struct Who {
    /// The user.
    pub user: Option<String>,
    /// The database.
    pub database: Option<String>,
    /// `application_name`.
    pub application: Option<String>,
    /// The client's address.
    pub client: Option<String>,
}

/// Sends texts through a model as one session, each taken to end well.
pub fn explain(router: Router, model: &dyn Model, who: &Who, texts: &[String]) -> Vec<Step> {
    let engine = router.engine();
    let dialect = Dialect::of(engine);
    let mut transaction = TransactionStatus::Idle;
    let request = |seq: usize, kind| {
        let mut request = Request::new(1, u32::try_from(seq).unwrap_or(u32::MAX), seq as i64 * 1_000_000_000, kind);
        request.user = who.user.as_deref().map(Into::into);
        request.database = who.database.as_deref().map(Into::into);
        request.application = who.application.as_deref().map(Into::into);
        request.client = who.client.as_deref().map(Into::into);
        request.outcome = Outcome::Ok;
        request.duration_ns = Some(1_000_000);
        request
    };
    let connect = request(0, Kind::Connect);
    let mut session = model.connect(&connect);
    session.route(&connect);
    session.ended(&connect);
    let mut steps = Vec::with_capacity(texts.len());
    for (index, sql) in texts.iter().enumerate() {
        let mut request = request(index + 1, Kind::Query);
        request.messages = if engine == Engine::Mysql { "03".into() } else { "Q".into() };
        request.shape_id = Some(dialect.shape_id(sql));
        request.sql = Some(sql.as_str().into());
        for statement in dialect.facts(sql).statements {
            transaction = match statement.kind {
                StatementKind::Begin(_) => TransactionStatus::Open,
                StatementKind::Commit { chain } | StatementKind::Rollback { chain } if !chain => {
                    TransactionStatus::Idle
                }
                _ if statement.state.implicit_commit => TransactionStatus::Idle,
                _ => transaction,
            };
        }
        request.transaction = Some(transaction);
        let decision = session.route(&request);
        session.ended(&request);
        steps.push(Step { sql: sql.clone(), decision });
    }
    steps
}
