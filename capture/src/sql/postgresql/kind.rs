//! From the top of a parse tree to the kind of statement.

use pg_query::NodeEnum;
use pg_query::protobuf::{
    DefElem, DiscardMode, Node, ObjectType, OnCommitAction, RangeVar, TransactionStmt, TransactionStmtKind,
    VariableSetKind, VariableSetStmt,
};

use super::constant;
use crate::sql::{Discard, Effect, Isolation, Statement, StatementKind, TransactionMode};

/// The DECLARE CURSOR option WITH HOLD (`CURSOR_OPT_HOLD` in parsenodes.h).
const CURSOR_HOLD: i32 = 0x0020;

pub(super) fn of(node: &NodeEnum) -> StatementKind {
    use StatementKind as Kind;
    match node {
        NodeEnum::SelectStmt(select) => match into(select) {
            Some(relation) => Kind::Create { temporary: is_temporary(Some(relation)), on_commit_drop: false },
            None => Kind::Select,
        },
        NodeEnum::InsertStmt(_) => Kind::Insert,
        NodeEnum::UpdateStmt(_) => Kind::Update,
        NodeEnum::DeleteStmt(_) => Kind::Delete,
        NodeEnum::MergeStmt(_) => Kind::Merge,
        NodeEnum::TruncateStmt(_) => Kind::Truncate,
        NodeEnum::CopyStmt(copy) if copy.is_from => Kind::CopyFrom,
        NodeEnum::CopyStmt(copy) => Kind::CopyTo { server_side: copy.is_program || !copy.filename.is_empty() },
        NodeEnum::TransactionStmt(transaction) => of_transaction(transaction),
        NodeEnum::ConstraintsSetStmt(_) => Kind::SetConstraints,
        NodeEnum::VariableSetStmt(set) => of_set(set),
        NodeEnum::VariableShowStmt(show) => Kind::Show { name: show.name.to_lowercase() },
        NodeEnum::DiscardStmt(discard) => Kind::Discard {
            what: match discard.target() {
                DiscardMode::DiscardPlans => Discard::Plans,
                DiscardMode::DiscardSequences => Discard::Sequences,
                DiscardMode::DiscardTemp => Discard::Temp,
                DiscardMode::DiscardAll | DiscardMode::Undefined => Discard::All,
            },
        },
        NodeEnum::PrepareStmt(prepare) => {
            Kind::Prepare { name: prepare.name.clone(), inner: inner(prepare.query.as_deref()) }
        }
        NodeEnum::ExecuteStmt(execute) => Kind::Execute { name: execute.name.clone() },
        NodeEnum::DeallocateStmt(deallocate) => Kind::Deallocate { name: named(&deallocate.name) },
        NodeEnum::DeclareCursorStmt(declare) => Kind::Declare {
            name: declare.portalname.clone(),
            hold: declare.options & CURSOR_HOLD != 0,
            inner: inner(declare.query.as_deref()),
        },
        NodeEnum::FetchStmt(fetch) => Kind::Fetch { name: fetch.portalname.clone() },
        NodeEnum::ClosePortalStmt(close) => Kind::CloseCursor { name: named(&close.portalname) },
        NodeEnum::ListenStmt(listen) => Kind::Listen { channel: listen.conditionname.clone() },
        NodeEnum::UnlistenStmt(unlisten) => Kind::Unlisten { channel: named(&unlisten.conditionname) },
        NodeEnum::NotifyStmt(notify) => Kind::Notify { channel: notify.conditionname.clone() },
        NodeEnum::LockStmt(_) => Kind::LockTable,
        NodeEnum::CreateStmt(create) => Kind::Create {
            temporary: is_temporary(create.relation.as_ref()),
            on_commit_drop: create.oncommit == OnCommitAction::OncommitDrop as i32,
        },
        NodeEnum::CreateTableAsStmt(create) => {
            let into = create.into.as_ref();
            Kind::Create {
                temporary: is_temporary(into.and_then(|into| into.rel.as_ref())),
                on_commit_drop: into.is_some_and(|into| into.on_commit == OnCommitAction::OncommitDrop as i32),
            }
        }
        NodeEnum::ViewStmt(view) => Kind::Create { temporary: is_temporary(view.view.as_ref()), on_commit_drop: false },
        NodeEnum::CreateSeqStmt(create) => {
            Kind::Create { temporary: is_temporary(create.sequence.as_ref()), on_commit_drop: false }
        }
        NodeEnum::DropStmt(drop)
            if matches!(
                drop.remove_type(),
                ObjectType::ObjectTable
                    | ObjectType::ObjectView
                    | ObjectType::ObjectSequence
                    | ObjectType::ObjectMatview
            ) =>
        {
            Kind::Drop
        }
        NodeEnum::RenameStmt(rename)
            if rename.subname.is_empty()
                && matches!(
                    rename.rename_type(),
                    ObjectType::ObjectTable | ObjectType::ObjectView | ObjectType::ObjectSequence
                ) =>
        {
            Kind::Rename { to: rename.newname.clone() }
        }
        NodeEnum::CallStmt(_) => Kind::Call,
        NodeEnum::DoStmt(_) => Kind::Do,
        NodeEnum::ExplainStmt(explain) => {
            Kind::Explain { analyze: option(&explain.options, "analyze"), inner: inner(explain.query.as_deref()) }
        }
        NodeEnum::VacuumStmt(vacuum) => maintain(if vacuum.is_vacuumcmd { "vacuum" } else { "analyze" }),
        NodeEnum::ReindexStmt(_) => maintain("reindex"),
        NodeEnum::ClusterStmt(_) => maintain("cluster"),
        NodeEnum::CheckPointStmt(_) => maintain("checkpoint"),
        NodeEnum::LoadStmt(_) => maintain("load"),
        other => Kind::Define { name: name_of(other) },
    }
}

/// The table that SELECT INTO creates; in a UNION the first branch carries it.
pub(super) fn into(select: &pg_query::protobuf::SelectStmt) -> Option<&RangeVar> {
    let mut branch = select;
    loop {
        match (&branch.into_clause, &branch.larg) {
            (Some(into), _) => return into.rel.as_ref(),
            (None, Some(left)) => branch = left,
            (None, None) => return None,
        }
    }
}

fn of_transaction(transaction: &TransactionStmt) -> StatementKind {
    use StatementKind as Kind;
    let name = transaction.savepoint_name.clone();
    match transaction.kind() {
        TransactionStmtKind::TransStmtBegin | TransactionStmtKind::TransStmtStart => {
            Kind::Begin(mode(&transaction.options))
        }
        TransactionStmtKind::TransStmtCommit => Kind::Commit { chain: transaction.chain },
        TransactionStmtKind::TransStmtRollback => Kind::Rollback { chain: transaction.chain },
        TransactionStmtKind::TransStmtSavepoint => Kind::Savepoint { name },
        TransactionStmtKind::TransStmtRelease => Kind::Release { name },
        TransactionStmtKind::TransStmtRollbackTo => Kind::RollbackTo { name },
        TransactionStmtKind::TransStmtPrepare => Kind::PrepareTransaction,
        TransactionStmtKind::TransStmtCommitPrepared => Kind::CommitPrepared,
        TransactionStmtKind::TransStmtRollbackPrepared => Kind::RollbackPrepared,
        TransactionStmtKind::Undefined => Kind::Define { name: "TransactionStmt".to_owned() },
    }
}

fn of_set(set: &VariableSetStmt) -> StatementKind {
    use StatementKind as Kind;
    let name = set.name.to_lowercase();
    match set.kind() {
        VariableSetKind::VarSetMulti => match name.as_str() {
            "transaction" => Kind::SetTransaction(mode(&set.args)),
            "session characteristics" => Kind::SetCharacteristics(mode(&set.args)),
            // SET TRANSACTION SNAPSHOT
            _ => Kind::SetTransaction(TransactionMode::default()),
        },
        VariableSetKind::VarReset => Kind::Reset { name: Some(name) },
        VariableSetKind::VarResetAll => Kind::Reset { name: None },
        VariableSetKind::VarSetValue if !name.contains('.') => {
            let values: Vec<_> = set.args.iter().filter_map(constant::text).collect();
            Kind::Set { name, value: Some(values.join(", ")), local: set.is_local }
        }
        _ => Kind::Set { name, value: None, local: set.is_local },
    }
}

fn mode(options: &[Node]) -> TransactionMode {
    let mut mode = TransactionMode::default();
    for option in definitions(options) {
        let Some(text) = option.arg.as_deref().and_then(constant::text) else { continue };
        match option.defname.as_str() {
            "transaction_read_only" => mode.read_only = constant::boolean(&text),
            "transaction_isolation" => mode.isolation = Isolation::from_name(&text),
            _ => {}
        }
    }
    mode
}

fn definitions(options: &[Node]) -> impl Iterator<Item = &DefElem> {
    options.iter().filter_map(|option| match option.node.as_ref() {
        Some(NodeEnum::DefElem(definition)) => Some(&**definition),
        _ => None,
    })
}

/// A boolean option in parentheses; the last one counts, and one without a value is true.
fn option(options: &[Node], name: &str) -> bool {
    let last = definitions(options).filter(|option| option.defname.eq_ignore_ascii_case(name)).last();
    last.is_some_and(|option| match option.arg.as_deref() {
        None => true,
        Some(value) => constant::text(value).as_deref().and_then(constant::boolean).unwrap_or(true),
    })
}

fn inner(query: Option<&Node>) -> Box<Statement> {
    Box::new(match query.and_then(|query| query.node.as_ref()) {
        Some(node) => super::statement(node),
        None => Statement::new(StatementKind::Define { name: "nothing".to_owned() }, Effect::Write),
    })
}

fn named(name: &str) -> Option<String> {
    (!name.is_empty() && name != "*").then(|| name.to_owned())
}

fn maintain(name: &str) -> StatementKind {
    StatementKind::Maintain { name: name.to_owned() }
}

fn is_temporary(relation: Option<&RangeVar>) -> bool {
    relation.is_some_and(|relation| relation.relpersistence == "t" || relation.schemaname == "pg_temp")
}

/// The name of a node's type, as its serialised form tells.
fn name_of(node: &NodeEnum) -> String {
    match serde_json::to_value(node) {
        Ok(serde_json::Value::Object(tagged)) => tagged.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}
