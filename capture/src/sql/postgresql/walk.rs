//! One walk over everything below a statement.
//!
//! The tree is walked in its serialised form, where every node of every type has its fields by name: a walk over
//! types would have to name all 270 of them, and forget one. Nodes that stand in a field of their own type carry no
//! tag, so they are told by a field that only they have.

use std::collections::BTreeSet;

use pg_query::NodeEnum;
use pg_query::protobuf::{LockClauseStrength, OverridingKind, SqlValueFunctionOp};
use serde_json::{Map, Value};

use super::constant::boolean;
use crate::sql::{Effect, Function, Relation, RowLock, Setting, Statement, StatementKind};

/// Everything found below a statement, with its effect still to be settled.
pub(super) fn found_below(node: &NodeEnum, kind: StatementKind) -> Statement {
    let mut walk = Walk { statement: Statement::new(kind, Effect::Read), ..Walk::default() };
    if let Ok(value) = serde_json::to_value(node) {
        walk.value(&value);
    }
    walk.statement.reads = walk.reads.into_iter().collect();
    walk.statement.functions = walk.functions.into_iter().collect();
    walk.statement.surroundings = walk.surroundings.into_iter().collect();
    if walk.asks_for_default {
        walk.statement.given.clear();
    }
    walk.statement
}

struct Walk {
    statement: Statement,
    reads: BTreeSet<Relation>,
    functions: BTreeSet<Function>,
    surroundings: BTreeSet<String>,
    /// Names of the common table expressions in scope.
    names: Vec<String>,
    /// How many common table expressions enclose the walk.
    within: u32,
    /// DEFAULT stands somewhere in place of a value.
    asks_for_default: bool,
}

impl Default for Walk {
    fn default() -> Self {
        Walk {
            statement: Statement::new(StatementKind::Select, Effect::Read),
            reads: BTreeSet::new(),
            functions: BTreeSet::new(),
            surroundings: BTreeSet::new(),
            names: Vec::new(),
            within: 0,
            asks_for_default: false,
        }
    }
}

impl Walk {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.value(item)),
            Value::Object(fields) => self.object(fields),
            _ => {}
        }
    }

    fn object(&mut self, fields: &Map<String, Value>) {
        if fields.len() == 1
            && let Some((tag, body)) = fields.iter().next()
        {
            return self.tagged(tag, body);
        }
        let scope = self.names.len();
        if let Some(Value::Object(with)) = fields.get("with_clause") {
            self.with(with);
        }
        if fields.contains_key("relpersistence") {
            self.relation(fields);
        } else if fields.contains_key("funcformat") {
            self.function(fields);
        } else if fields.contains_key("wait_policy") && fields.contains_key("strength") {
            self.locking(fields);
        } else if fields.contains_key("locking_clause") {
            self.select(fields);
        }
        for (name, value) in fields {
            // Row locks name tables by the alias that they have in FROM, where they are found anyway.
            if name != "with_clause" && name != "locked_rels" {
                self.value(value);
            }
        }
        self.names.truncate(scope);
    }

    /// A node with its type.
    fn tagged(&mut self, tag: &str, body: &Value) {
        let Value::Object(fields) = body else { return self.value(body) };
        match tag {
            "InsertStmt" | "UpdateStmt" | "DeleteStmt" | "MergeStmt" => self.change(fields),
            "SqlvalueFunction" | "SqlValueFunction" => {
                let op = number(fields.get("op")).and_then(|op| SqlValueFunctionOp::try_from(op).ok());
                self.surroundings.extend(op.and_then(value_function).map(str::to_owned));
            }
            "SetToDefault" => self.asks_for_default = true,
            "TypeCast" => {
                self.time_literal(fields);
                self.value(body);
            }
            "RangeTableSample" => {
                if is_absent(fields.get("repeatable")) {
                    self.surroundings.insert("tablesample".to_owned());
                }
                self.value(body);
            }
            _ => self.value(body),
        }
    }

    /// Names are in scope for what follows in the list, and inside their own query only when recursive.
    fn with(&mut self, with: &Map<String, Value>) {
        let tables: Vec<_> = list(with.get("ctes")).filter_map(|node| untag(node, "CommonTableExpr")).collect();
        let name = |table: &Map<String, Value>| text(table.get("ctename")).map(str::to_owned);
        let recursive = with.get("recursive") == Some(&Value::Bool(true));
        if recursive {
            self.names.extend(tables.iter().filter_map(|table| name(table)));
        }
        for table in tables {
            self.within += 1;
            if let Some(query) = table.get("ctequery") {
                self.value(query);
            }
            self.within -= 1;
            if !recursive {
                self.names.extend(name(table));
            }
        }
    }

    fn relation(&mut self, fields: &Map<String, Value>) {
        let Some(relation) = relation_of(fields) else { return };
        if relation.schema.is_some() || !self.names.contains(&relation.name) {
            self.reads.insert(relation);
        }
    }

    /// INSERT, UPDATE, DELETE and MERGE: their target is written, everything else in them is read.
    fn change(&mut self, fields: &Map<String, Value>) {
        if let Some(Value::Object(target)) = fields.get("relation")
            && let Some(relation) = relation_of(target)
            && !self.statement.writes.contains(&relation)
        {
            self.statement.writes.push(relation);
        }
        self.statement.modifying_cte |= self.within > 0;
        if self.within == 0 {
            self.given(fields);
        }
        self.statement.returning |= !is_absent(fields.get("returning_clause"));
        let rest: Map<_, _> = fields
            .iter()
            .filter(|(name, _)| *name != "relation")
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        self.object(&rest);
    }

    /// The columns of an INSERT, unless it says itself that values for some of them do not count.
    fn given(&mut self, fields: &Map<String, Value>) {
        let overriding = number(fields.get("override")).and_then(|kind| OverridingKind::try_from(kind).ok());
        if overriding != Some(OverridingKind::OverridingUserValue) {
            let columns = list(fields.get("cols")).filter_map(|node| untag(node, "ResTarget"));
            let names = columns.filter_map(|column| text(column.get("name"))).map(str::to_owned);
            self.statement.given.extend(names);
        }
    }

    fn function(&mut self, fields: &Map<String, Value>) {
        let parts: Vec<_> = list(fields.get("funcname"))
            .filter_map(|node| untag(node, "String"))
            .filter_map(|part| text(part.get("sval")))
            .collect();
        let Some((name, schema)) = parts.split_last() else { return };
        let arguments: Vec<_> = list(fields.get("args")).collect();
        let args = u16::try_from(arguments.len()).unwrap_or(u16::MAX);
        if *name == "set_config" {
            let constant = |at: usize| arguments.get(at).and_then(|node| constant_of(node));
            let name = constant(0);
            let value = constant(1).filter(|_| name.as_ref().is_some_and(|name| !name.contains('.')));
            let local = constant(2).as_deref().and_then(boolean);
            self.statement.settings.push(Setting { name, value, local });
        }
        let schema = schema.last().map(|&schema| schema.to_owned());
        self.functions.insert(Function { schema, name: (*name).to_owned(), args });
    }

    fn locking(&mut self, fields: &Map<String, Value>) {
        let strength = number(fields.get("strength")).and_then(|strength| LockClauseStrength::try_from(strength).ok());
        let lock = match strength {
            Some(LockClauseStrength::LcsForkeyshare) => RowLock::KeyShare,
            Some(LockClauseStrength::LcsForshare) => RowLock::Share,
            Some(LockClauseStrength::LcsFornokeyupdate) => RowLock::NoKeyUpdate,
            Some(LockClauseStrength::LcsForupdate) => RowLock::Update,
            // ON CONFLICT has a strength field of its own since PostgreSQL 19; here it is never set.
            Some(LockClauseStrength::LcsNone | LockClauseStrength::Undefined) | None => return,
        };
        self.statement.row_lock = self.statement.row_lock.max(Some(lock));
    }

    fn select(&mut self, fields: &Map<String, Value>) {
        let sorted = list(fields.get("sort_clause")).next().is_some();
        let limited = ["limit_count", "limit_offset"]
            .iter()
            .any(|name| fields.get(*name).is_some_and(|limit| !is_absent(Some(limit)) && !is_null_constant(limit)));
        // DISTINCT ON (...) lists expressions; plain DISTINCT holds one empty node.
        let distinct_on = list(fields.get("distinct_clause")).any(|node| !is_empty_node(node));
        self.statement.arbitrary_rows |= (limited || distinct_on) && !sorted;
    }

    /// `'now'::timestamp` reads the clock without a call.
    fn time_literal(&mut self, fields: &Map<String, Value>) {
        let word = fields.get("arg").and_then(constant_of).map(|text| text.trim().to_ascii_lowercase());
        let names = fields.get("type_name").and_then(|name| name.get("names"));
        let of_time = list(names)
            .filter_map(|node| untag(node, "String"))
            .filter_map(|part| text(part.get("sval")))
            .any(|name| matches!(name, "date" | "time" | "timetz" | "timestamp" | "timestamptz"));
        if of_time
            && let Some(word) = word
            && matches!(word.as_str(), "now" | "today" | "tomorrow" | "yesterday")
        {
            self.surroundings.insert(format!("'{word}'"));
        }
    }
}

fn value_function(op: SqlValueFunctionOp) -> Option<&'static str> {
    use SqlValueFunctionOp as Op;
    Some(match op {
        Op::SqlvalueFunctionOpUndefined => return None,
        Op::SvfopCurrentDate => "current_date",
        Op::SvfopCurrentTime | Op::SvfopCurrentTimeN => "current_time",
        Op::SvfopCurrentTimestamp | Op::SvfopCurrentTimestampN => "current_timestamp",
        Op::SvfopLocaltime | Op::SvfopLocaltimeN => "localtime",
        Op::SvfopLocaltimestamp | Op::SvfopLocaltimestampN => "localtimestamp",
        Op::SvfopCurrentRole => "current_role",
        Op::SvfopCurrentUser | Op::SvfopUser => "current_user",
        Op::SvfopSessionUser => "session_user",
        Op::SvfopCurrentCatalog => "current_catalog",
        Op::SvfopCurrentSchema => "current_schema",
    })
}

fn relation_of(fields: &Map<String, Value>) -> Option<Relation> {
    let part = |name: &str| text(fields.get(name)).filter(|part| !part.is_empty()).map(str::to_owned);
    Some(Relation { schema: part("schemaname"), name: part("relname")? })
}

/// The body of a node if it has this type.
fn untag<'a>(node: &'a Value, tag: &str) -> Option<&'a Map<String, Value>> {
    node.get("node")?.get(tag)?.as_object()
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str)
}

fn number(value: Option<&Value>) -> Option<i32> {
    value.and_then(Value::as_i64).and_then(|number| i32::try_from(number).ok())
}

fn is_absent(value: Option<&Value>) -> bool {
    value.is_none_or(Value::is_null)
}

fn is_empty_node(node: &Value) -> bool {
    is_absent(node.get("node"))
}

/// LIMIT ALL and LIMIT NULL.
fn is_null_constant(node: &Value) -> bool {
    untag(node, "AConst").is_some_and(|constant| constant.get("isnull") == Some(&Value::Bool(true)))
}

fn constant_of(node: &Value) -> Option<String> {
    if let Some(cast) = untag(node, "TypeCast") {
        return constant_of(cast.get("arg")?);
    }
    let constant = untag(node, "AConst")?.get("val")?.as_object()?;
    let (_, value) = constant.iter().next()?;
    let (_, value) = value.as_object()?.iter().next()?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
