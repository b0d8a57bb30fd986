//! Stored functions of MySQL and MariaDB that are proven to read only. What a function declares is not checked by the server, so
//! that its body counts as well.

use std::collections::{HashMap, HashSet};

use splitproof_capture::sql::mysql::{Builtin, Mode, body, builtin};
use splitproof_capture::sql::{Effect, Statement};

use crate::catalog::{Catalog, Routine};

/// What the body of a function shows.
#[derive(Debug)]
struct Shown {
    /// True when nothing in it writes, whatever the functions do that it calls.
    only_reads: bool,
    /// Tables, views and functions that it names, in lower case.
    names: HashSet<String>,
}

/// The stored functions of a pair.
#[derive(Debug, Default)]
pub struct Routines {
    /// By name, in lower case: the schemas that have it, and whether the function is proven there.
    functions: HashMap<String, Vec<(String, bool)>>,
}

impl Routines {
    /// Those of a catalogue.
    pub fn new(catalog: &Catalog) -> Self {
        let routines = catalog.mysql.iter().flat_map(|mysql| &mysql.routines);
        let functions: Vec<&Routine> = routines.filter(|routine| routine.kind == "FUNCTION").collect();
        let bodies: Vec<Shown> = functions.iter().map(|routine| Shown::by(routine)).collect();
        let views = catalog.relations.iter().filter(|relation| relation.kind == 'v');
        let views: HashSet<String> = views.map(|view| view.name.to_lowercase()).collect();
        let mut proven: Vec<bool> =
            functions.iter().zip(&bodies).map(|(routine, body)| is_harmless(routine, body, &views)).collect();
        // A function that calls one that is not proven is not proven itself.
        loop {
            let unproven = functions.iter().zip(&proven).filter(|(_, proven)| !**proven);
            let unproven: HashSet<String> = unproven.map(|(routine, _)| routine.name.to_lowercase()).collect();
            let mut news = false;
            for (proven, body) in proven.iter_mut().zip(&bodies) {
                if *proven && !unproven.is_disjoint(&body.names) {
                    (*proven, news) = (false, true);
                }
            }
            if !news {
                break;
            }
        }
        let mut all = Routines::default();
        for (routine, proven) in functions.iter().zip(proven) {
            let known = all.functions.entry(routine.name.to_lowercase()).or_default();
            known.push((routine.schema.to_lowercase(), proven));
        }
        all
    }

    /// True when every function of this name is proven; without a schema those of every schema, since the session's database is not
    /// known.
    pub fn only_reads(&self, schema: Option<&str>, name: &str) -> bool {
        let schema = schema.map(str::to_lowercase);
        let known = self.functions.get(&name.to_lowercase()).map_or(&[][..], Vec::as_slice);
        let mut meant = known.iter().filter(|(own, _)| schema.as_ref().is_none_or(|schema| schema == own)).peekable();
        meant.peek().is_some() && meant.all(|(_, proven)| *proven)
    }
}

fn is_harmless(routine: &Routine, body: &Shown, views: &HashSet<String>) -> bool {
    let declared = matches!(routine.data_access.as_str(), "NO SQL" | "READS SQL DATA");
    let acts = |name: &String| matches!(builtin(name), Some(Builtin::UserLock | Builtin::System));
    declared && body.only_reads && views.is_disjoint(&body.names) && !body.names.iter().any(acts)
}

impl Shown {
    fn by(routine: &Routine) -> Self {
        let Some(create) = &routine.create else { return Shown { only_reads: false, names: HashSet::new() } };
        let body = body(create, &Mode::default().with_sql_mode(&routine.sql_mode));
        let tables = body.statements.iter().flat_map(|statement| &statement.reads).map(|table| &table.name);
        let calls = body.statements.iter().flat_map(|statement| &statement.functions).map(|function| &function.name);
        Shown {
            only_reads: body.unknown.is_none() && body.statements.iter().all(only_reads),
            names: tables.chain(calls).map(|name| name.to_lowercase()).collect(),
        }
    }
}

/// What SELECT ... INTO fills in a body may be a file of the server as well as a variable, which its kind tells.
fn only_reads(statement: &Statement) -> bool {
    statement.effect == Effect::Read
        && statement.writes.is_empty()
        && statement.row_lock.is_none()
        && statement.state.variables_written.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{MysqlCatalog, Relation};

    fn routines(functions: &[(&str, &str, &str, Option<&str>)]) -> Routines {
        let routine = |(schema, name, data_access, body): &(&str, &str, &str, Option<&str>)| Routine {
            schema: (*schema).to_owned(),
            name: (*name).to_owned(),
            kind: "FUNCTION".to_owned(),
            data_access: (*data_access).to_owned(),
            deterministic: true,
            sql_mode: String::new(),
            create: body.map(|body| format!("CREATE FUNCTION `{name}`(n INT) RETURNS INT {body}")),
        };
        let mysql = Some(MysqlCatalog { routines: functions.iter().map(routine).collect(), ..MysqlCatalog::default() });
        let view = Relation { schema: "a".to_owned(), name: "v".to_owned(), kind: 'v', persistence: 'p' };
        Routines::new(&Catalog { mysql, relations: vec![view], ..Catalog::default() })
    }

    #[test]
    fn declaration_and_body_both_count() {
        const READS: &str = "READS SQL DATA";
        let found = routines(&[
            ("a", "Tax", "NO SQL", Some("RETURN n * 1.19")),
            ("a", "reads", READS, Some("BEGIN DECLARE n INT; SELECT MAX(id) INTO n FROM t; RETURN n; END")),
            ("a", "silent", "CONTAINS SQL", Some("RETURN 1")),
            ("a", "hidden", READS, None),
            ("a", "liar", READS, Some("BEGIN\nINSERT INTO t VALUES (1); RETURN 1; END")),
            ("a", "draws", READS, Some("RETURN NEXTVAL(ids)")),
            ("a", "exports", READS, Some("BEGIN SELECT 1 INTO OUTFILE '/tmp/x' FROM t; RETURN 1; END")),
            ("a", "remembers", READS, Some("BEGIN SET @last = n; RETURN 1; END")),
            ("a", "blocks", READS, Some("RETURN (SELECT MAX(id) FROM t FOR UPDATE)")),
            ("a", "locks", READS, Some("RETURN GET_LOCK('a', 1)")),
            ("a", "sees", READS, Some("RETURN (SELECT 1 FROM v)")),
            ("a", "calls", READS, Some("RETURN far(1)")),
            ("a", "far", READS, Some("RETURN liar()")),
            ("a", "both", READS, Some("RETURN 1")),
            ("b", "both", "MODIFIES SQL DATA", Some("RETURN 1")),
        ]);
        let proven = |schema, name| found.only_reads(schema, name);
        assert!(proven(None, "tax") && proven(Some("A"), "TAX") && proven(None, "reads"));
        for name in [
            "exports",
            "remembers",
            "blocks",
            "silent",
            "hidden",
            "liar",
            "draws",
            "locks",
            "sees",
            "calls",
            "far",
            "both",
            "nobody",
        ] {
            assert!(!proven(None, name), "{name}");
        }
        assert!(proven(Some("a"), "both") && !proven(Some("b"), "both") && !proven(Some("c"), "tax"));
    }
}
