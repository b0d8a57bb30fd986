use splitproof_capture::sql::Function;
use splitproof_capture::trace::{Engine, Role};

use super::super::{Call, Fit, Functions, Intent, Reason, Variation};
use super::{alone, catalog};

fn call(functions: &Functions, schema: Option<&str>, name: &str) -> Call {
    functions.call(&Function { schema: schema.map(str::to_owned), name: name.to_owned(), args: 0 })
}

#[test]
fn volatility_comes_from_the_catalogue() {
    let functions = Functions::new(Engine::Postgresql, Some(&catalog()));
    assert_eq!(call(&functions, None, "order_total"), Call::Pure);
    assert_eq!(call(&functions, Some("public"), "audit_login"), Call::Volatile("audit_login".into()));
    assert_eq!(call(&functions, None, "both"), Call::Volatile("both".into()));
    assert_eq!(call(&functions, Some("public"), "both"), Call::Pure);
    assert_eq!(call(&functions, Some("other"), "both"), Call::Unknown("both".into()));
    assert_eq!(call(&functions, None, "uuid_generate_v4"), Call::ChangesNothing("uuid_generate_v4".into()));
    assert_eq!(call(&functions, None, "no_such"), Call::Unknown("no_such".into()));
}

#[test]
fn without_a_catalogue_the_functions_of_postgresql_are_known() {
    let functions = Functions::new(Engine::Postgresql, None);
    for name in ["now", "count", "lower", "generate_series", "pg_backend_pid", "current_setting", "json_agg"] {
        assert_eq!(call(&functions, None, name), Call::Pure, "{name}");
    }
    for name in ["random", "pg_sleep", "clock_timestamp", "gen_random_uuid", "pg_is_in_recovery", "pg_relation_size"] {
        assert_eq!(call(&functions, Some("pg_catalog"), name), Call::ChangesNothing(name.into()));
    }
    for name in [
        "nextval",
        "setval",
        "lo_create",
        "pg_notify",
        "txid_current",
        "pg_logical_emit_message",
        "pg_switch_wal",
        "pg_current_wal_lsn",
        "query_to_xml",
    ] {
        assert_eq!(call(&functions, None, name), Call::System(name.into()));
    }
    assert_eq!(call(&functions, None, "pg_try_advisory_lock"), Call::AdvisoryLock("pg_try_advisory_lock".into()));
    assert_eq!(call(&functions, None, "currval"), Call::SequenceValue("currval".into()));
    assert_eq!(call(&functions, None, "setseed"), Call::SessionState("setseed".into()));
    assert_eq!(call(&functions, None, "audit_login"), Call::Unknown("audit_login".into()));
}

#[test]
fn what_is_not_known_belongs_to_the_primary_and_says_so() {
    for sql in ["SELECT no_such(1)", "SELECT FROM WHERE", "EXECUTE never_prepared"] {
        let verdict = alone(sql);
        assert_eq!((verdict.intent, verdict.is_unknown()), (Intent::Primary, true), "{sql}");
    }
    assert_eq!(alone("SELECT no_such(1)").reason, Reason::UnknownFunction("no_such".into()));
    let profile = alone("SELECT no_such(1), now()").profile.expect("a text has a profile");
    assert_eq!(profile.unknown_functions().map(|name| &**name).collect::<Vec<_>>(), ["no_such"]);
}

#[test]
fn roles_fit_or_not() {
    let fit = |sql: &str| [alone(sql).fit(Role::Primary), alone(sql).fit(Role::Replica)];
    assert_eq!(fit("SELECT 1 FROM users"), [Fit::AccidentalPrimaryRead, Fit::Right]);
    assert_eq!(fit("SELECT random()"), [Fit::Right, Fit::Right]);
    assert_eq!(fit("SELECT audit_login(1)"), [Fit::Right, Fit::WriteLeakage]);
    assert_eq!(fit("SET x = 1"), [Fit::Right, Fit::Right]);
}

#[test]
fn answers_that_differ_each_time_are_named() {
    let varies = |sql: &str| alone(sql).profile.and_then(|profile| profile.answer_varies().cloned());
    let writes_vary = |sql: &str| alone(sql).profile.and_then(|profile| profile.written_varies().cloned());
    assert_eq!(varies("SELECT now()"), Some(Variation::Time));
    assert_eq!(varies("SELECT current_timestamp"), Some(Variation::Time));
    assert_eq!(varies("SELECT current_user"), None);
    assert_eq!(varies("SELECT random()"), Some(Variation::Random));
    assert_eq!(varies("SELECT nextval('s')"), Some(Variation::Sequence));
    assert_eq!(varies("SELECT audit_login(1)"), Some(Variation::Function("audit_login".into())));
    assert_eq!(varies("SELECT order_total(1)"), None);
    assert_eq!(varies("SELECT * FROM pg_stat_activity"), Some(Variation::Server));
    assert_eq!(varies("SELECT * FROM users LIMIT 1"), Some(Variation::ArbitraryRows));
    assert_eq!(varies("SELECT * FROM users ORDER BY id LIMIT 1"), None);
    assert_eq!(varies("EXPLAIN SELECT 1"), Some(Variation::Plan));
    assert_eq!(varies("INSERT INTO audit (what) VALUES ('x')"), None);
    assert_eq!(
        varies("INSERT INTO audit (what) VALUES ('x') RETURNING id"),
        Some(Variation::Default("audit.id".into()))
    );
    assert_eq!(writes_vary("INSERT INTO audit (what) VALUES ('x')"), Some(Variation::Default("audit.id".into())));
    assert_eq!(writes_vary("INSERT INTO audit (id, what) VALUES (7, 'x')"), None, "no default is taken");
    assert_eq!(
        writes_vary("INSERT INTO audit (id, what) VALUES (DEFAULT, 'x')"),
        Some(Variation::Default("audit.id".into()))
    );
    assert_eq!(writes_vary("UPDATE users SET seen = now()"), Some(Variation::Time));
    assert_eq!(varies("UPDATE users SET seen = now()"), None);
    assert_eq!(writes_vary("UPDATE users SET name = 'x'"), None);
}
