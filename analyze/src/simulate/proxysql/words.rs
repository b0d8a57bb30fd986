//! Texts that ProxySQL knows by heart.

/// COMMIT or ROLLBACK and nothing else, not even a semicolon.
pub fn ends_transaction(sql: &[u8]) -> bool {
    sql.eq_ignore_ascii_case(b"commit") || sql.eq_ignore_ascii_case(b"rollback")
}

/// Texts that ProxySQL answers without asking a server.
pub fn answered_by_proxysql(sql: &[u8]) -> bool {
    const TEXTS: [&[u8]; 6] = [
        b"select @@version_comment limit 1",
        b"select @@version",
        b"select connection_id()",
        b"select database(), user() limit 1",
        b"select @@character_set_client, @@character_set_connection, @@character_set_server, @@character_set_database limit 1",
        b"proxysql internal session",
    ];
    TEXTS.iter().any(|text| sql.eq_ignore_ascii_case(text))
}

/// The forms of asking for the last generated key that ProxySQL answers itself.
pub fn asks_for_key(sql: &[u8]) -> bool {
    const TEXTS: [&[u8]; 4] = [
        b"select last_insert_id()",
        b"select last_insert_id() limit 1",
        b"select @@identity",
        b"select @@identity limit 1",
    ];
    TEXTS.iter().any(|text| sql.eq_ignore_ascii_case(text))
}

/// The database that USE names.
pub fn database(sql: &str) -> Option<String> {
    let rest = sql.trim_start().get(3..)?.trim();
    let name = rest.trim_end_matches(';').trim();
    let name = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')).unwrap_or(name);
    (!name.is_empty()).then(|| name.to_owned())
}
