//! What a request itself tells of its row.

use std::sync::Arc;

use splitproof_capture::sql::Dialect;
use splitproof_capture::trace::{LateCause, Request};

use crate::engine::Row;
use crate::findings::shorten;
use crate::route::{Route, tags};

/// What a request says of its sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Sender {
    pub route: Option<Route>,
    /// Who the user behind it is, in whatever session, by the tag that was named for that.
    pub client: Option<Arc<str>>,
}

impl Sender {
    /// Reads its tags.
    pub fn of(request: &Request, dialect: Dialect, client_tag: Option<&str>) -> Self {
        let tags = tags(request, dialect);
        let client = client_tag.and_then(|key| tags.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)));
        Sender { route: Route::tagged(&tags), client: client.map(|(_, value)| value.as_str().into()) }
    }
}

/// What the request itself tells.
pub(super) fn row(request: &Request, key: (u64, u32), needed: bool, sender: Sender) -> Row {
    let number = |value: Option<u64>| value.and_then(|value| i64::try_from(value).ok());
    let (method, route) = sender.route.map_or((None, None), |route| (route.method, Some(route.name)));
    Row {
        session: request.session.cast_signed(),
        seq: request.seq.into(),
        recorded_session: key.0.cast_signed(),
        recorded_seq: key.1.into(),
        start_ns: request.start_ns,
        kind: Some(request.kind.as_str()),
        shape: request.shape_id.map(u64::cast_signed),
        sql: request.sql.as_deref().map(|sql| shorten(sql).into()),
        application: request.application.clone(),
        method: method.map(Arc::from),
        route: route.map(Arc::from),
        needed,
        outcome: Some(request.outcome.as_str()),
        error_code: request.error_code.as_deref().map(Arc::from),
        duration_ns: number(request.duration_ns),
        row_count: number(request.rows),
        affected: number(request.affected),
        late: request.late_cause == Some(LateCause::ReplayerLate),
        ..Row::default()
    }
}
