//! PostgreSQL's catalogue.

use tokio_postgres::{Client, Error, Row};

use crate::catalog::{Catalog, Function, FunctionKind, Relation, VaryingDefault, Volatility};

const SETTINGS: &str =
    "SELECT current_setting('server_version'), current_database()::text, current_schemas(false)::text[]";

const FUNCTIONS: &str = "\
    SELECT n.nspname::text, p.proname::text, pg_get_function_identity_arguments(p.oid), p.provolatile, p.prokind, \
           p.proretset, l.lanname::text \
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang \
    ORDER BY 1, 2, 3";

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

pub(super) async fn read(client: &Client) -> Result<Catalog, Error> {
    let settings = client.query_one(SETTINGS, &[]).await?;
    let functions = client.query(FUNCTIONS, &[]).await?;
    let defaults = client.query(VARYING_DEFAULTS, &[]).await?;
    let relations = client.query(RELATIONS, &[]).await?;
    Ok(Catalog {
        server_version: settings.try_get(0)?,
        database: settings.try_get(1)?,
        search_path: settings.try_get(2)?,
        functions: functions.iter().map(function).collect::<Result<_, _>>()?,
        varying_defaults: defaults.iter().map(varying_default).collect::<Result<_, _>>()?,
        relations: relations.iter().map(relation).collect::<Result<_, _>>()?,
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

/// A value of the type `"char"`.
fn letter(row: &Row, column: usize) -> Result<char, Error> {
    row.try_get::<_, i8>(column).map(|byte| char::from(byte.cast_unsigned()))
}
