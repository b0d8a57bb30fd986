//! MySQL's and MariaDB's catalogue.

use std::collections::BTreeMap;

use mysql_async::Row;

use crate::catalog::{
    Catalog, Function, FunctionKind, MysqlCatalog, Relation, Routine, Table, Trigger, VaryingDefault, Volatility,
};
use crate::control::{DriverError, MysqlControl, required, text};

/// Whichever of these the server knows.
const SETTINGS: &str = "\
    SHOW GLOBAL VARIABLES WHERE Variable_name IN ( \
        'autocommit', 'binlog_format', 'character_set_server', 'collation_server', 'gtid_domain_id', 'gtid_mode', 'log_bin', \
        'lower_case_table_names', 'server_id', 'sql_mode', 'sync_binlog', 'transaction_isolation', 'tx_isolation', \
        'transaction_read_only', 'tx_read_only', 'version', 'version_comment')";

const ROUTINES: &str = "\
    SELECT ROUTINE_SCHEMA AS s, ROUTINE_NAME AS n, ROUTINE_TYPE AS kind, SQL_DATA_ACCESS AS data_access, \
           IS_DETERMINISTIC AS declared, SQL_MODE AS sql_mode \
    FROM information_schema.ROUTINES ORDER BY 1, 2, 3";

const TABLES: &str = "\
    SELECT t.TABLE_SCHEMA AS s, t.TABLE_NAME AS n, t.TABLE_TYPE AS kind, t.ENGINE AS engine, \
           v.VIEW_DEFINITION AS definition \
    FROM information_schema.TABLES t LEFT JOIN information_schema.VIEWS v USING (TABLE_SCHEMA, TABLE_NAME) \
    WHERE t.TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') ORDER BY 1, 2";

const TRIGGERS: &str = "\
    SELECT TRIGGER_SCHEMA AS s, TRIGGER_NAME AS n, EVENT_OBJECT_TABLE AS t, ACTION_TIMING AS timing, \
           EVENT_MANIPULATION AS event, SQL_MODE AS sql_mode \
    FROM information_schema.TRIGGERS \
    WHERE TRIGGER_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') ORDER BY 1, 2";

const COLUMNS: &str = "\
    SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, COLUMN_NAME AS n, COLUMN_DEFAULT AS expression, EXTRA AS extra \
    FROM information_schema.COLUMNS \
    WHERE TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') \
      AND (EXTRA <> '' OR COLUMN_DEFAULT LIKE '%(%' OR COLUMN_DEFAULT LIKE 'CURRENT_%') \
    ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION";

/// Schemas of the server's own.
const SYSTEM: [&str; 4] = ["mysql", "sys", "performance_schema", "information_schema"];

/// Functions whose value differs between two statements of the same text.
const VARYING: [&str; 19] = [
    "connection_id",
    "curdate",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_user",
    "curtime",
    "localtime",
    "localtimestamp",
    "nextval",
    "now",
    "rand",
    "random_bytes",
    "sys_guid",
    "sysdate",
    "unix_timestamp",
    "utc_timestamp",
    "uuid",
    "uuid_short",
];

pub(super) async fn read(control: &MysqlControl) -> Result<Catalog, DriverError> {
    let database = text(&control.row("SELECT DATABASE() AS d").await?, "d")?.unwrap_or_default();
    let mut settings = BTreeMap::new();
    for row in control.rows(SETTINGS).await? {
        settings.insert(named(&row, "Variable_name")?, named(&row, "Value")?);
    }
    let mut routines = all(control.rows(ROUTINES).await?, routine)?;
    for routine in routines.iter_mut().filter(|routine| !SYSTEM.contains(&&*routine.schema)) {
        let column = match routine.kind.as_str() {
            "FUNCTION" => "Create Function",
            "PROCEDURE" => "Create Procedure",
            _ => continue,
        };
        routine.create = create(control, &routine.kind, &routine.schema, &routine.name, column).await?;
    }
    let mut triggers = all(control.rows(TRIGGERS).await?, trigger)?;
    for trigger in &mut triggers {
        let column = "SQL Original Statement";
        trigger.create = create(control, "TRIGGER", &trigger.schema, &trigger.name, column).await?;
    }
    let tables = all(control.rows(TABLES).await?, table)?;
    let defaults = all(control.rows(COLUMNS).await?, varying_default)?;
    Ok(Catalog {
        server_version: settings.get("version").cloned().unwrap_or_default(),
        search_path: if database.is_empty() { Vec::new() } else { vec![database.clone()] },
        database,
        functions: routines.iter().filter_map(function).collect(),
        varying_defaults: defaults.into_iter().flatten().collect(),
        relations: tables.iter().filter_map(relation).collect(),
        mysql: Some(MysqlCatalog { settings, routines, tables, triggers }),
        triggers: Vec::new(),
    })
}

/// The statement that makes something; `None` where the user may not see it.
async fn create(
    control: &MysqlControl,
    kind: &str,
    schema: &str,
    name: &str,
    column: &str,
) -> Result<Option<String>, DriverError> {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    match control.row(&format!("SHOW CREATE {kind} {}.{}", quoted(schema), quoted(name))).await {
        Ok(row) => text(&row, column),
        Err(DriverError::Mysql(error)) if matches!(*error, mysql_async::Error::Server(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn all<T>(rows: Vec<Row>, read: impl Fn(&Row) -> Result<T, DriverError>) -> Result<Vec<T>, DriverError> {
    rows.iter().map(read).collect()
}

fn named(row: &Row, name: &str) -> Result<String, DriverError> {
    required(Some(row), name, text)
}

fn routine(row: &Row) -> Result<Routine, DriverError> {
    Ok(Routine {
        schema: named(row, "s")?,
        name: named(row, "n")?,
        kind: named(row, "kind")?,
        data_access: named(row, "data_access")?,
        deterministic: named(row, "declared")? == "YES",
        sql_mode: named(row, "sql_mode")?,
        create: None,
    })
}

fn table(row: &Row) -> Result<Table, DriverError> {
    Ok(Table {
        schema: named(row, "s")?,
        name: named(row, "n")?,
        kind: named(row, "kind")?,
        engine: text(row, "engine")?,
        definition: text(row, "definition")?.filter(|definition| !definition.is_empty()),
    })
}

fn trigger(row: &Row) -> Result<Trigger, DriverError> {
    Ok(Trigger {
        schema: named(row, "s")?,
        name: named(row, "n")?,
        table: named(row, "t")?,
        timing: named(row, "timing")?,
        event: named(row, "event")?,
        sql_mode: named(row, "sql_mode")?,
        create: None,
    })
}

/// A routine as the engine-neutral part of the catalogue has it, by what it was declared to be.
fn function(routine: &Routine) -> Option<Function> {
    let kind = match routine.kind.as_str() {
        "FUNCTION" => FunctionKind::Function,
        "PROCEDURE" => FunctionKind::Procedure,
        _ => return None,
    };
    Some(Function {
        schema: routine.schema.clone(),
        name: routine.name.clone(),
        args: String::new(),
        volatility: match routine.data_access.as_str() {
            "NO SQL" if routine.deterministic => Volatility::Immutable,
            "NO SQL" | "READS SQL DATA" => Volatility::Stable,
            _ => Volatility::Volatile,
        },
        kind,
        returns_set: false,
        language: "sql".to_owned(),
        definition: None,
    })
}

fn relation(table: &Table) -> Option<Relation> {
    let kind = match table.kind.as_str() {
        "VIEW" => 'v',
        "SEQUENCE" => 'S',
        _ => return None,
    };
    Some(Relation { schema: table.schema.clone(), name: table.name.clone(), kind, persistence: 'p' })
}

fn varying_default(row: &Row) -> Result<Option<VaryingDefault>, DriverError> {
    let (default, extra) = (text(row, "expression")?.unwrap_or_default(), text(row, "extra")?.unwrap_or_default());
    let Some(expression) = varying(&default, &extra) else { return Ok(None) };
    Ok(Some(VaryingDefault {
        schema: named(row, "s")?,
        table: named(row, "t")?,
        column: named(row, "n")?,
        expression: expression.to_owned(),
    }))
}

/// What makes a column's value differ between two inserts of the same text.
fn varying<'a>(default: &'a str, extra: &'a str) -> Option<&'a str> {
    let lower = extra.to_ascii_lowercase();
    if lower.contains("auto_increment") {
        return Some("auto_increment");
    }
    // MariaDB writes a text between quotes, MySQL says in `extra` that the default is no text.
    let is_expression = !default.starts_with('\'') && (default.contains('(') || default.starts_with("CURRENT_"));
    if is_expression && calls(default).any(|name| VARYING.iter().any(|varying| name.eq_ignore_ascii_case(varying))) {
        return Some(default);
    }
    lower.contains("on update").then_some(extra)
}

/// The words of an expression outside texts.
fn calls(expression: &str) -> impl Iterator<Item = &str> {
    let outside = expression.split('\'').step_by(2);
    outside.flat_map(|part| part.split(|char: char| !char.is_ascii_alphanumeric() && char != '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_that_vary_are_told_from_constants() {
        assert_eq!(varying("", "auto_increment"), Some("auto_increment"));
        assert_eq!(varying("current_timestamp()", ""), Some("current_timestamp()"));
        assert_eq!(varying("CURRENT_TIMESTAMP", "DEFAULT_GENERATED"), Some("CURRENT_TIMESTAMP"));
        assert_eq!(varying("nextval(`shop`.`ids`)", ""), Some("nextval(`shop`.`ids`)"));
        assert_eq!(varying("concat('x',uuid())", ""), Some("concat('x',uuid())"));
        assert_eq!(varying("NULL", "on update current_timestamp()"), Some("on update current_timestamp()"));
        assert_eq!(varying("'now()'", ""), None);
        assert_eq!(varying("concat('uuid(',1)", ""), None);
        assert_eq!(varying("lower('A')", ""), None);
        assert_eq!(varying("", "STORED GENERATED"), None);
    }

    #[test]
    fn a_routine_is_what_it_was_declared_to_be() {
        let declared = |data_access: &str, deterministic| {
            let routine = Routine {
                schema: "shop".to_owned(),
                name: "f".to_owned(),
                kind: "FUNCTION".to_owned(),
                data_access: data_access.to_owned(),
                deterministic,
                sql_mode: String::new(),
                create: None,
            };
            function(&routine).map(|function| function.volatility)
        };
        assert_eq!(declared("NO SQL", true), Some(Volatility::Immutable));
        assert_eq!(declared("READS SQL DATA", true), Some(Volatility::Stable));
        assert_eq!(declared("CONTAINS SQL", true), Some(Volatility::Volatile));
    }
}
