//! What a statement does, once everything below it is known.

use pg_query::NodeEnum;
use pg_query::protobuf::{Node, RangeVar, SelectStmt};

use crate::sql::{Effect, Relation, Statement, StatementKind};

/// Settles the effect, and which tables are written rather than read.
pub(super) fn settle(statement: &mut Statement, node: &NodeEnum) {
    use StatementKind as Kind;
    targets(statement, node);
    statement.ordered = ordered(node);
    statement.effect = match &mut statement.kind {
        Kind::Select | Kind::CopyTo { server_side: false } => of_query(statement),
        Kind::Insert | Kind::Update | Kind::Delete | Kind::Merge | Kind::Truncate | Kind::CopyFrom => Effect::Write,
        Kind::Create { .. } | Kind::Drop | Kind::Rename { .. } | Kind::Define { .. } => Effect::Write,
        Kind::Call | Kind::Do | Kind::Notify { .. } => Effect::Write,
        Kind::CopyTo { server_side: true } | Kind::Maintain { .. } => Effect::Utility,
        Kind::Begin(_)
        | Kind::Commit { .. }
        | Kind::Rollback { .. }
        | Kind::Savepoint { .. }
        | Kind::Release { .. }
        | Kind::RollbackTo { .. }
        | Kind::PrepareTransaction
        | Kind::CommitPrepared
        | Kind::RollbackPrepared
        | Kind::SetTransaction(_)
        | Kind::SetConstraints => Effect::Transaction,
        Kind::SetCharacteristics(_) | Kind::Set { .. } | Kind::Reset { .. } | Kind::Discard { .. } => Effect::Session,
        Kind::Execute { .. } | Kind::Deallocate { .. } | Kind::Fetch { .. } | Kind::CloseCursor { .. } => {
            Effect::Session
        }
        Kind::Listen { .. } | Kind::Unlisten { .. } => Effect::Session,
        Kind::Show { .. } => Effect::Read,
        Kind::LockTable => Effect::Lock,
        // Nothing runs yet: what will run is told by the inner statement.
        Kind::Prepare { .. } | Kind::Declare { .. } => {
            forget(statement);
            Effect::Session
        }
        Kind::Explain { analyze: true, inner } => inner.effect,
        Kind::Explain { analyze: false, .. } => {
            forget(statement);
            Effect::Read
        }
        // Statements of the other engine.
        _ => Effect::Write,
    };
}

fn of_query(statement: &Statement) -> Effect {
    if statement.modifying_cte || !statement.writes.is_empty() {
        Effect::Write
    } else if statement.row_lock.is_some() {
        Effect::Lock
    } else {
        Effect::Read
    }
}

/// Drops what stands below the statement without being run by it.
fn forget(statement: &mut Statement) {
    let fresh = Statement::new(statement.kind.clone(), statement.effect);
    *statement = Statement { ordered: statement.ordered, ..fresh };
}

/// Puts the tables that a statement defines, locks, empties or fills among the written ones.
fn targets(statement: &mut Statement, node: &NodeEnum) {
    match node {
        NodeEnum::SelectStmt(select) => {
            if let Some(table) = super::kind::into(select) {
                statement.into = true;
                write(statement, Some(table));
            }
        }
        NodeEnum::CopyStmt(copy) if copy.is_from => write(statement, copy.relation.as_ref()),
        NodeEnum::CreateStmt(create) => write(statement, create.relation.as_ref()),
        NodeEnum::CreateTableAsStmt(create) => {
            write(statement, create.into.as_ref().and_then(|into| into.rel.as_ref()));
        }
        NodeEnum::ViewStmt(view) => write(statement, view.view.as_ref()),
        NodeEnum::CreateSeqStmt(create) => write(statement, create.sequence.as_ref()),
        NodeEnum::RefreshMatViewStmt(refresh) => write(statement, refresh.relation.as_ref()),
        NodeEnum::DropStmt(drop) if statement.kind == StatementKind::Drop => {
            statement.writes.extend(drop.objects.iter().filter_map(dotted));
        }
        NodeEnum::TruncateStmt(_)
        | NodeEnum::LockStmt(_)
        | NodeEnum::AlterTableStmt(_)
        | NodeEnum::RenameStmt(_)
        | NodeEnum::IndexStmt(_)
        | NodeEnum::VacuumStmt(_)
        | NodeEnum::ReindexStmt(_)
        | NodeEnum::ClusterStmt(_) => {
            // None of these reads a table without changing or holding it.
            let named = std::mem::take(&mut statement.reads);
            statement.writes.extend(named);
        }
        _ => {}
    }
}

/// Moves a table from read to written; it comes first.
fn write(statement: &mut Statement, table: Option<&RangeVar>) {
    let Some(table) = table else { return };
    let schema = (!table.schemaname.is_empty()).then(|| table.schemaname.clone());
    let table = Relation { schema, name: table.relname.clone() };
    statement.reads.retain(|read| *read != table);
    statement.writes.insert(0, table);
}

/// A name in the objects of DROP.
fn dotted(node: &Node) -> Option<Relation> {
    let NodeEnum::List(list) = node.node.as_ref()? else { return None };
    let mut parts = list.items.iter().rev().filter_map(super::constant::text);
    let name = parts.next()?;
    Some(Relation { schema: parts.next(), name })
}

/// True when the outermost query has an ORDER BY.
fn ordered(node: &NodeEnum) -> bool {
    let query = |node: &Option<Box<Node>>| node.as_ref().and_then(|node| node.node.as_ref()).is_some_and(ordered);
    match node {
        NodeEnum::SelectStmt(select) => sorted(select),
        NodeEnum::PrepareStmt(prepare) => query(&prepare.query),
        NodeEnum::DeclareCursorStmt(declare) => query(&declare.query),
        NodeEnum::CopyStmt(copy) => query(&copy.query),
        _ => false,
    }
}

fn sorted(select: &SelectStmt) -> bool {
    !select.sort_clause.is_empty()
}
