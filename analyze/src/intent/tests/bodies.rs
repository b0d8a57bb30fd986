//! Functions whose bodies are known.

use std::sync::Arc;

use splitproof_capture::sql::Dialect;
use splitproof_capture::trace::Engine;
use splitproof_replay::catalog::{
    Catalog, Function, FunctionKind, FunctionTrigger, MysqlCatalog, Relation, Routine, Trigger, VaryingDefault,
    Volatility,
};

use super::super::{Effects, Intent, Judge, Reason, RequestView, Session, Variation, Verdict};
use super::{function, session_of};

use Volatility::{Immutable, Stable, Volatile};

fn plpgsql(name: &str, volatility: Volatility, statements: &str) -> Function {
    let definition = Some(format!("BEGIN {statements} END"));
    Function { definition, ..function("public", name, volatility, "plpgsql") }
}

fn relation(name: &str, kind: char, persistence: char) -> Relation {
    Relation { schema: "public".to_owned(), name: name.to_owned(), kind, persistence }
}

fn varying(table: &str, column: &str) -> VaryingDefault {
    let expression = "now()".to_owned();
    VaryingDefault { schema: "public".to_owned(), table: table.to_owned(), column: column.to_owned(), expression }
}

fn judge(functions: Vec<Function>) -> Judge {
    judge_with(functions, Vec::new())
}

fn judge_with(functions: Vec<Function>, triggers: Vec<FunctionTrigger>) -> Judge {
    Judge::new(
        Dialect::Postgresql,
        Some(Arc::new(Catalog {
            functions,
            triggers,
            relations: vec![relation("scratch", 'r', 'u'), relation("report", 'v', 'p')],
            varying_defaults: vec![varying("audit", "at")],
            ..Catalog::default()
        })),
    )
}

fn verdict(judge: &mut Judge, sql: &str) -> Verdict {
    Session::new().judge(judge, &RequestView::query(sql))
}

fn effects(judge: &mut Judge, sql: &str) -> Effects {
    let verdict = verdict(judge, sql);
    let profile = verdict.profile.expect("a text has a profile");
    assert_eq!(profile.error, None, "{sql}");
    profile.statements.first().expect("a statement").effects.clone()
}

/// Tables read and written, as `reads a b writes c`; `any` where more may be.
fn tables(effects: &Effects) -> String {
    let mut all = String::new();
    for (what, tables, any) in
        [("reads", &effects.reads, effects.reads_any), ("writes", &effects.writes, effects.writes_any)]
    {
        let any = any.then(|| Arc::from("any"));
        let names: Vec<&str> = tables.iter().chain(&any).map(|table| &**table).collect();
        if !names.is_empty() {
            all = format!("{all} {what} {}", names.join(" "));
        }
    }
    all.trim().to_owned()
}

fn vary(effects: &Effects) -> String {
    effects.written_vary.keys().map(|table| &**table).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_call_reads_and_writes_what_its_body_does() {
    let mut judge = judge(vec![
        plpgsql("audit_login", Volatile, "INSERT INTO audit (user_id) VALUES (login); RETURN login;"),
        plpgsql("dynamic", Volatile, "DELETE FROM stock; EXECUTE text;"),
        plpgsql("reads_view", Volatile, "RETURN (SELECT max(id) FROM report);"),
        function("public", "not_known", Volatile, "plpgsql"),
        function("public", "in_c", Volatile, "c"),
    ]);
    for (sql, expected) in [
        ("SELECT audit_login(1)", "writes audit"),
        ("SELECT public.audit_login(id) FROM users", "reads users writes audit"),
        ("INSERT INTO orders SELECT audit_login(id) FROM users", "reads users writes audit orders"),
        ("SELECT other.audit_login(1)", "reads any writes any"),
        ("SELECT dynamic(1)", "reads any writes stock any"),
        ("SELECT reads_view()", "reads report any"),
        ("SELECT not_known(1)", "reads any writes any"),
        ("SELECT in_c(1)", "reads any writes any"),
        ("SELECT no_such(1)", "reads any writes any"),
        ("SELECT now(), random(), nextval('s')", ""),
        ("SELECT query_to_xml('SELECT 1', true, true, '')", "reads any"),
        ("PREPARE p AS SELECT audit_login(1)", ""),
        ("EXPLAIN SELECT audit_login(1)", ""),
        ("EXPLAIN ANALYZE SELECT audit_login(1)", "writes audit"),
        ("DO 'BEGIN END'", "writes any"),
    ] {
        assert_eq!(tables(&effects(&mut judge, sql)), expected, "{sql}");
    }
}

#[test]
fn calls_in_bodies_are_followed() {
    let procedure = Function { kind: FunctionKind::Procedure, ..plpgsql("p", Volatile, "PERFORM leaf(); COMMIT;") };
    let elsewhere = Function { schema: "other".to_owned(), ..plpgsql("leaf", Stable, "RETURN (SELECT 1 FROM b);") };
    let mut judge = judge(vec![
        plpgsql("ping", Volatile, "DELETE FROM a; PERFORM pong();"),
        plpgsql("pong", Volatile, "INSERT INTO b SELECT * FROM c; PERFORM ping(); PERFORM pong();"),
        plpgsql("outer", Volatile, "PERFORM ping(); PERFORM 1 FROM d;"),
        plpgsql("leaf", Volatile, "DELETE FROM a;"),
        elsewhere,
        procedure,
        plpgsql("lost", Volatile, "PERFORM no_such();"),
        plpgsql("through", Volatile, "PERFORM lost();"),
    ]);
    for (sql, expected) in [
        ("SELECT ping()", "reads c writes a b"),
        ("SELECT pong()", "reads c writes a b"),
        ("SELECT outer()", "reads c d writes a b"),
        ("SELECT public.leaf()", "writes a"),
        // Which one it is depends on the session's search path.
        ("SELECT leaf()", "reads b writes a"),
        ("CALL p()", "reads b writes a"),
        ("SELECT through()", "reads any writes any"),
    ] {
        let sql = sql.replace("outer", "\"outer\"");
        assert_eq!(tables(&effects(&mut judge, &sql)), expected, "{sql}");
    }
}

#[test]
fn a_promise_that_the_body_breaks_is_not_believed() {
    let mut judge = judge(vec![
        plpgsql("writes", Stable, "INSERT INTO audit (user_id) VALUES (1);"),
        plpgsql("through", Immutable, "PERFORM writes();"),
        plpgsql("draws", Stable, "RETURN nextval('s');"),
        plpgsql("locks", Stable, "PERFORM 1 FROM a FOR UPDATE;"),
        plpgsql("notifies", Stable, "NOTIFY channel;"),
        plpgsql("temporary", Stable, "CREATE TEMP TABLE x (a int); INSERT INTO x VALUES (1);"),
        plpgsql("mixes", Stable, "EXECUTE text; DELETE FROM a;"),
        // What is not known is believed, and so is a promise of others that is not kept for certain.
        plpgsql("dynamic", Stable, "EXECUTE text;"),
        plpgsql("constant", Immutable, "EXECUTE text;"),
        plpgsql("calls_volatile", Stable, "PERFORM not_known();"),
        function("public", "not_known", Volatile, "plpgsql"),
    ]);
    for (sql, why, expected) in [
        ("SELECT writes()", "writes audit", "writes audit"),
        ("SELECT through()", "writes audit", "writes audit"),
        ("SELECT draws()", "calls nextval()", ""),
        ("SELECT locks()", "takes locks", "reads a"),
        ("SELECT notifies()", "sends a notification", ""),
        ("SELECT temporary()", "makes a temporary table", ""),
        ("SELECT mixes()", "writes a", "reads any writes a any"),
    ] {
        let verdict = verdict(&mut judge, sql);
        assert_eq!(verdict.intent, Intent::Primary, "{sql}");
        let name = sql.trim_start_matches("SELECT ").trim_end_matches("()");
        assert_eq!(verdict.reason, Reason::Undeclared(name.into(), why.into()), "{sql}");
        assert_eq!(tables(&effects(&mut judge, sql)), expected, "{sql}");
    }
    let reason = verdict(&mut judge, "SELECT writes()").reason.to_string();
    assert_eq!(reason, "writes() is declared to change nothing, but its body writes audit");
    for (sql, expected) in
        [("SELECT dynamic()", "reads any"), ("SELECT constant()", ""), ("SELECT calls_volatile()", "reads any")]
    {
        let verdict = verdict(&mut judge, sql);
        assert_eq!((verdict.intent, verdict.either), (Intent::Replica, false), "{sql}: {}", verdict.reason);
        assert_eq!(tables(&effects(&mut judge, sql)), expected, "{sql}");
    }
}

#[test]
fn a_volatile_function_whose_body_only_reads_may_run_on_either_node() {
    let mut judge = judge(vec![
        plpgsql("reads", Volatile, "RETURN (SELECT count(*) FROM orders WHERE random() < 2);"),
        plpgsql("through", Volatile, "RETURN reads() + stable();"),
        plpgsql("stable", Stable, "RETURN (SELECT 1 FROM users);"),
        plpgsql("unlogged", Volatile, "RETURN (SELECT 1 FROM scratch);"),
        plpgsql("loops", Volatile, "IF n > 0 THEN RETURN loops(n - 1); END IF; RETURN 0;"),
        plpgsql("sets", Volatile, "SET LOCAL work_mem = '1MB';"),
        plpgsql("configures", Volatile, "PERFORM set_config('a.b', 'c', true);"),
        plpgsql("dynamic", Volatile, "RETURN QUERY EXECUTE text;"),
        plpgsql("reads_cursor", Volatile, "FETCH c INTO x;"),
        plpgsql("sequence", Volatile, "RETURN lastval();"),
        plpgsql("not_read", Volatile, "no such statement;"),
    ]);
    for name in ["reads", "through", "loops"] {
        let verdict = verdict(&mut judge, &format!("SELECT {name}()"));
        assert_eq!((verdict.intent, verdict.either), (Intent::Replica, true), "{name}");
        assert_eq!(verdict.reason, Reason::BodyReads(name.into()));
    }
    assert_eq!(tables(&effects(&mut judge, "SELECT through()")), "reads orders users");
    assert_eq!(verdict(&mut judge, "SELECT unlogged()").reason, Reason::Unlogged("scratch".into()));
    for name in ["sets", "configures", "dynamic", "reads_cursor", "sequence", "not_read"] {
        let verdict = verdict(&mut judge, &format!("SELECT {name}()"));
        assert_eq!(verdict.reason, Reason::VolatileFunction(name.into()));
    }
}

#[test]
fn a_body_that_reads_a_temporary_table_belongs_where_the_table_is() {
    session_of(
        &mut judge(vec![
            plpgsql("reads_basket", Volatile, "RETURN (SELECT count(*) FROM basket);"),
            plpgsql("reads_basket_too", Stable, "RETURN reads_basket();"),
        ]),
        "SELECT reads_basket() => replica either
         SELECT reads_basket_too() => replica
         CREATE TEMP TABLE basket (sku int) => primary
         SELECT reads_basket() => same primary
         SELECT reads_basket_too() => same primary",
    );
}

#[test]
fn what_varies_in_a_body_varies_in_its_answer_and_in_what_it_writes() {
    let mut judge = judge(vec![
        plpgsql("audit_login", Volatile, "INSERT INTO audit (user_id) VALUES (login); RETURN login;"),
        plpgsql("returns_time", Stable, "RETURN now();"),
        plpgsql("any_row", Stable, "RETURN (SELECT id FROM orders LIMIT 1);"),
        plpgsql(
            "reads_back",
            Volatile,
            "DELETE FROM orders; INSERT INTO audit DEFAULT VALUES; RETURN (SELECT max(at) FROM audit);",
        ),
        plpgsql("flows", Volatile, "x := random(); UPDATE orders SET a = x; DELETE FROM stock;"),
        plpgsql("through", Volatile, "PERFORM flows(); DELETE FROM users;"),
        plpgsql("fixed", Volatile, "UPDATE orders SET a = 1; RETURN (SELECT max(id) FROM orders);"),
        function("public", "not_known", Volatile, "plpgsql"),
    ]);
    for (sql, answer, written) in [
        ("SELECT audit_login(1)", None, "audit"),
        ("SELECT returns_time()", Some(Variation::Time), ""),
        ("SELECT any_row()", Some(Variation::ArbitraryRows), ""),
        ("SELECT reads_back()", Some(Variation::Default("audit.at".into())), "audit orders"),
        ("SELECT flows()", Some(Variation::Random), "orders stock"),
        ("SELECT through()", Some(Variation::Random), "orders stock users"),
        ("SELECT fixed()", None, ""),
        ("SELECT not_known()", Some(Variation::Function("not_known".into())), ""),
        // Each table for its own reason.
        ("INSERT INTO users SELECT audit_login(id) FROM users", None, "audit"),
        ("INSERT INTO users SELECT returns_time()", None, "users"),
    ] {
        let profile = verdict(&mut judge, sql).profile.expect("a text has a profile");
        assert_eq!(profile.answer_varies(), answer.as_ref(), "{sql}");
        assert_eq!(vary(&effects(&mut judge, sql)), written, "{sql}");
    }
}

#[test]
fn a_write_sets_off_the_triggers_of_its_table() {
    let trigger = |table: &str, event: &str, function: &str| FunctionTrigger {
        schema: "public".to_owned(),
        table: table.to_owned(),
        name: "t".to_owned(),
        events: vec![event.to_owned()],
        function_schema: "public".to_owned(),
        function: function.to_owned(),
    };
    let mut judge = judge_with(
        vec![
            plpgsql("copies", Volatile, "INSERT INTO history SELECT OLD.*, (SELECT 1 FROM clerks); RETURN NULL;"),
            plpgsql("stamps", Volatile, "NEW.changed_at := now(); RETURN NEW;"),
            plpgsql("logs", Volatile, "INSERT INTO audit (user_id) VALUES (1); RETURN NULL;"),
            plpgsql("dynamic", Volatile, "EXECUTE text; RETURN NULL;"),
            plpgsql("adds", Volatile, "INSERT INTO orders VALUES (1);"),
        ],
        vec![
            trigger("orders", "UPDATE", "copies"),
            trigger("orders", "INSERT", "logs"),
            trigger("history", "INSERT", "dynamic"),
            trigger("users", "UPDATE", "stamps"),
            trigger("users", "INSERT", "suppress_redundant_updates_trigger"),
        ],
    );
    for (sql, expected, varying) in [
        ("UPDATE orders SET a = 1", "reads clerks writes history orders", ""),
        // ON CONFLICT may update.
        ("INSERT INTO orders VALUES (1)", "reads clerks writes audit history orders", "audit"),
        ("DELETE FROM orders", "writes orders", ""),
        ("TRUNCATE orders", "writes orders", ""),
        ("UPDATE users SET a = 1", "writes users", "users"),
        ("SELECT adds()", "reads clerks writes audit history orders", "audit"),
        // Of a trigger that is not known nothing is seen.
        ("INSERT INTO history VALUES (1)", "writes history", ""),
    ] {
        let effects = effects(&mut judge, sql);
        assert_eq!((tables(&effects).as_str(), vary(&effects).as_str()), (expected, varying), "{sql}");
    }
}

fn routine(name: &str, kind: &str, data_access: &str, body: &str) -> Routine {
    let returns = if kind == "FUNCTION" { " RETURNS int(11)" } else { "" };
    Routine {
        schema: "shop".to_owned(),
        name: name.to_owned(),
        kind: kind.to_owned(),
        data_access: data_access.to_owned(),
        deterministic: false,
        sql_mode: String::new(),
        create: Some(format!("CREATE {kind} `{name}`(a INT){returns}\n{data_access}\n{body}")),
    }
}

/// What the snapshot makes of such routines.
fn mysql_judge(routines: Vec<Routine>, triggers: Vec<Trigger>) -> Judge {
    let listed = routines.iter().map(|routine| Function {
        kind: if routine.kind == "FUNCTION" { FunctionKind::Function } else { FunctionKind::Procedure },
        ..function(
            "shop",
            &routine.name,
            if routine.data_access == "READS SQL DATA" { Stable } else { Volatile },
            "sql",
        )
    });
    let catalog = Catalog {
        server_version: "10.11.6-MariaDB".to_owned(),
        functions: listed.collect(),
        mysql: Some(MysqlCatalog { routines, triggers, ..MysqlCatalog::default() }),
        ..Catalog::default()
    };
    Judge::new(Dialect::of(Engine::Mysql), Some(Arc::new(catalog)))
}

#[test]
fn routines_of_mysql_and_mariadb() {
    const READS: &str = "READS SQL DATA";
    const WRITES: &str = "MODIFIES SQL DATA";
    let mut judge = mysql_judge(
        vec![
            routine("Audit_Login", "FUNCTION", WRITES, "BEGIN INSERT INTO audit (user_id) VALUES (a); RETURN a; END"),
            routine("lies", "FUNCTION", READS, "BEGIN CALL deeper(a); RETURN 1; END"),
            routine("deeper", "PROCEDURE", WRITES, "DELETE FROM stock WHERE id = a"),
            // A function may share its name with a procedure.
            routine("deeper", "FUNCTION", READS, "RETURN (SELECT MAX(id) FROM users)"),
            routine("says_nothing", "FUNCTION", "CONTAINS SQL", "RETURN (SELECT MAX(id) FROM users)"),
            routine("remembers", "FUNCTION", "CONTAINS SQL", "BEGIN SET @x = a; RETURN @x; END"),
            routine(
                "works_aside",
                "FUNCTION",
                "CONTAINS SQL",
                "BEGIN CREATE TEMPORARY TABLE aside SELECT * FROM users; DELETE FROM aside; RETURN 1; END",
            ),
            routine("dynamic", "PROCEDURE", WRITES, "BEGIN DELETE FROM stock; EXECUTE IMMEDIATE a; END"),
            Routine {
                sql_mode: "PIPES_AS_CONCAT,ORACLE".to_owned(),
                ..routine("oracle", "PROCEDURE", WRITES, "DELETE FROM stock")
            },
            Routine { create: None, ..routine("hidden", "PROCEDURE", WRITES, "") },
            Routine {
                sql_mode: "ANSI_QUOTES".to_owned(),
                ..routine("quoted", "PROCEDURE", WRITES, "DELETE FROM \"stock\"")
            },
            routine("tells_time", "FUNCTION", READS, "BEGIN DECLARE t DATETIME DEFAULT NOW(); RETURN t; END"),
        ],
        vec![Trigger {
            schema: "shop".to_owned(),
            name: "t".to_owned(),
            table: "stock".to_owned(),
            timing: "AFTER".to_owned(),
            event: "DELETE".to_owned(),
            sql_mode: String::new(),
            create: Some(
                "CREATE TRIGGER t AFTER DELETE ON stock FOR EACH ROW INSERT INTO history VALUES (OLD.id, NOW())"
                    .to_owned(),
            ),
        }],
    );
    for (sql, expected) in [
        ("SELECT AUDIT_LOGIN(1)", "writes audit"),
        // A name in CALL may be a function among the arguments, so that both count.
        ("SELECT lies(1)", "reads users writes history stock"),
        ("SELECT deeper(1)", "reads users"),
        ("CALL deeper(1)", "reads users writes history stock"),
        ("SELECT says_nothing(1)", "reads users"),
        ("SELECT works_aside(1)", "reads users"),
        ("CALL dynamic(1)", "reads any writes history stock any"),
        ("CALL oracle(1)", "reads any writes any"),
        ("CALL hidden(1)", "reads any writes any"),
        ("CALL quoted(1)", "writes history stock"),
        ("CALL no_such(1)", "reads any writes any"),
        ("SELECT CONCAT(1), NOW()", ""),
    ] {
        assert_eq!(tables(&effects(&mut judge, sql)), expected, "{sql}");
    }
    assert_eq!(vary(&effects(&mut judge, "DELETE FROM stock")), "history");
    let unknown = |judge: &mut Judge, sql: &str| {
        let profile = verdict(judge, sql).profile.expect("a text has a profile");
        profile.unknown_functions().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(unknown(&mut judge, "CALL hidden(1)"), [""; 0]);
    assert_eq!(unknown(&mut judge, "CALL no_such(1)"), ["no_such"]);
    let varies =
        verdict(&mut judge, "SELECT tells_time(1)").profile.and_then(|profile| profile.answer_varies().cloned());
    assert_eq!(varies, Some(Variation::Time));
    let reason = verdict(&mut judge, "SELECT lies(1)").reason;
    assert_eq!(reason, Reason::Undeclared("lies".into(), "writes stock".into()));
    session_of(
        &mut judge,
        "SELECT audit_login(1) => primary
         SELECT lies(1) => primary
         SELECT says_nothing(1) => replica either
         SELECT remembers(1) => primary
         SELECT works_aside(1) => primary
         SELECT deeper(1) => replica
         CALL deeper(1) => primary",
    );
}
