//! PostgreSQL's catalogue.

use tokio_postgres::{Client, Error, Row};

use crate::catalog::{Catalog, Function, FunctionKind, FunctionTrigger, Relation, VaryingDefault, Volatility};

const SETTINGS: &str = "SELECT current_setting('server_version'), current_database()::text, current_schemas(false)::text[], \
            current_setting('server_version_num')::int";

/// `$body` stands for where the body is found.
const FUNCTIONS: &str = "\
    SELECT n.nspname::text, p.proname::text, pg_get_function_identity_arguments(p.oid), p.provolatile, p.prokind, \
           p.proretset, l.lanname::text, \
           CASE WHEN l.lanname IN ('sql', 'plpgsql') AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
                THEN $body END \
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang \
    ORDER BY 1, 2, 3";

/// A body in SQL-standard form, which PostgreSQL 14 brought, is kept as a tree; any other as it was written.
const BODY: &str = "coalesce(pg_get_function_sqlbody(p.oid), p.prosrc)";
const BODY_BEFORE_14: &str = "p.prosrc";

/// Columns whose default may give another value next time: it calls a function that is not immutable, or asks for the time.
/// A default names its functions in the text that `pg_get_expr` gives, each followed by a parenthesis. The name must not
/// be the end of a longer one.
const VARYING_DEFAULTS: &str = "\
    WITH defaults AS ( \
        SELECT n.nspname::text AS schema, c.relname::text AS relation, a.attname::text AS attribute, a.attnum, \
               CASE WHEN a.attidentity <> '' THEN 'nextval' ELSE pg_get_expr(d.adbin, d.adrelid) END AS expression \
        FROM pg_attribute a \
        JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'f') \
        JOIN pg_namespace n ON n.oid = c.relnamespace \
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
        WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND (a.attidentity <> '' OR a.atthasdef) \
          AND n.nspname NOT IN ('pg_catalog', 'information_schema')), \
    names AS (SELECT DISTINCT quote_ident(proname) || '(' AS name FROM pg_proc WHERE provolatile <> 'i') \
    SELECT schema, relation, attribute, expression FROM defaults \
    WHERE expression = 'nextval' OR expression ~ '\\m(CURRENT_DATE|CURRENT_TIME|LOCALTIME)' OR EXISTS ( \
        SELECT FROM names \
        WHERE strpos(expression, name) > 0 \
          AND (strpos(expression, name) = 1 \
               OR substr(expression, strpos(expression, name) - 1, 1) !~ '[[:alnum:]_$]')) \
    ORDER BY schema, relation, attnum";

const RELATIONS: &str = "\
    SELECT n.nspname::text, c.relname::text, c.relkind, c.relpersistence \
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE (c.relkind IN ('v', 'm', 'f', 'S') OR (c.relkind IN ('r', 'p') AND c.relpersistence <> 'p')) \
      AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') \
    ORDER BY 1, 2";

/// Triggers that fire in an ordinary session, by the bits of their type.
const TRIGGERS: &str = "\
    SELECT n.nspname::text, c.relname::text, t.tgname::text, t.tgtype, f.nspname::text, p.proname::text \
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
    JOIN pg_proc p ON p.oid = t.tgfoid JOIN pg_namespace f ON f.oid = p.pronamespace \
    WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') ORDER BY 1, 2, 3";

/// `TRIGGER_TYPE_INSERT` and its like in `pg_trigger.h`.
const EVENTS: [(i16, &str); 4] = [(4, "INSERT"), (8, "DELETE"), (16, "UPDATE"), (32, "TRUNCATE")];

pub(super) async fn read(client: &Client) -> Result<Catalog, Error> {
    let settings = client.query_one(SETTINGS, &[]).await?;
    let body = if settings.try_get::<_, i32>(3)? >= 140_000 { BODY } else { BODY_BEFORE_14 };
    let functions = client.query(&FUNCTIONS.replace("$body", body), &[]).await?;
    let defaults = client.query(VARYING_DEFAULTS, &[]).await?;
    let relations = client.query(RELATIONS, &[]).await?;
    let triggers = client.query(TRIGGERS, &[]).await?;
    Ok(Catalog {
        server_version: settings.try_get(0)?,
        database: settings.try_get(1)?,
        search_path: settings.try_get(2)?,
        functions: functions.iter().map(function).collect::<Result<_, _>>()?,
        varying_defaults: defaults.iter().map(varying_default).collect::<Result<_, _>>()?,
        relations: relations.iter().map(relation).collect::<Result<_, _>>()?,
        triggers: triggers.iter().map(trigger).collect::<Result<_, _>>()?,
        mysql: None,
    })
}

fn function(row: &Row) -> Result<Function, Error> {
    Ok(Function {
        schema: row.try_get(0)?,
        name: row.try_get(1)?,
        args: row.try_get(2)?,
        // A letter that a later version adds is taken for the most careful one.
        volatility: match letter(row, 3)? {
            'i' => Volatility::Immutable,
            's' => Volatility::Stable,
            _ => Volatility::Volatile,
        },
        kind: match letter(row, 4)? {
            'p' => FunctionKind::Procedure,
            'a' => FunctionKind::Aggregate,
            'w' => FunctionKind::Window,
            _ => FunctionKind::Function,
        },
        returns_set: row.try_get(5)?,
        language: row.try_get(6)?,
        definition: row.try_get(7)?,
    })
}

fn varying_default(row: &Row) -> Result<VaryingDefault, Error> {
    Ok(VaryingDefault {
        schema: row.try_get(0)?,
        table: row.try_get(1)?,
        column: row.try_get(2)?,
        expression: row.try_get(3)?,
    })
}

fn relation(row: &Row) -> Result<Relation, Error> {
    let (kind, persistence) = (letter(row, 2)?, letter(row, 3)?);
    Ok(Relation { schema: row.try_get(0)?, name: row.try_get(1)?, kind, persistence })
}

fn trigger(row: &Row) -> Result<FunctionTrigger, Error> {
    let bits: i16 = row.try_get(3)?;
    Ok(FunctionTrigger {
        schema: row.try_get(0)?,
        table: row.try_get(1)?,
        name: row.try_get(2)?,
        events: EVENTS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, event)| (*event).to_owned()).collect(),
        function_schema: row.try_get(4)?,
        function: row.try_get(5)?,
    })
}

/// A value of the type `"char"`.
fn letter(row: &Row, column: usize) -> Result<char, Error> {
    row.try_get::<_, i8>(column).map(|byte| char::from(byte.cast_unsigned()))
}
