//! The words that MySQL and MariaDB know.
//!
//! The lists are those of `information_schema.KEYWORDS` and `SQL_FUNCTIONS` of MariaDB 10.11 and of the chapters
//! "Keywords and Reserved Words" and "Built-In Function and Operator Reference" of MySQL 8.4's manual, put together.
//! They are part of what a shape id is computed from: a change here is a change of the trace format.

/// What a word is to the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Reserved in one of the two families: it names nothing unless quoted.
    Reserved,
    /// A keyword that may also be a name.
    Keyword,
    /// The name of a built-in function, and nothing else.
    Function,
}

const LONGEST: usize = 48;
/// Slots of the table of words: a few times as many as there are words.
const SLOTS: usize = 4096;

/// What a word in any case is; `None` for a name.
#[inline]
pub(super) fn of(word: &[u8]) -> Option<Word> {
    if word.len() > LONGEST {
        return None;
    }
    let mut slot = slot(word);
    loop {
        let at = TABLE.get(slot)?.checked_sub(1)?;
        let &(known, kind) = WORDS.get(usize::from(at))?;
        if known.as_bytes().eq_ignore_ascii_case(word) {
            return Some(kind);
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// Where a word in any case is looked for first (FNV-1a).
const fn slot(word: &[u8]) -> usize {
    let mut hash = 0x811c_9dc5_u32;
    let mut at = 0;
    while at < word.len() {
        hash = (hash ^ word[at].to_ascii_lowercase() as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    (hash ^ hash >> 15) as usize % SLOTS
}

/// Places in [`WORDS`] from 1 on, each in the first free slot from its own; 0 is free.
static TABLE: [u16; SLOTS] = {
    let mut table = [0; SLOTS];
    let mut at = 0;
    while at < WORDS.len() {
        let mut slot = slot(WORDS[at].0.as_bytes());
        while table[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = at as u16 + 1;
        at += 1;
    }
    table
};

/// True for a keyword of MySQL that MariaDB does not know.
pub(super) fn only_in_mysql(word: &[u8]) -> bool {
    ONLY_IN_MYSQL.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word))
}

const R: Word = Word::Reserved;
const K: Word = Word::Keyword;
const F: Word = Word::Function;

/// Sorted.
#[rustfmt::skip]
const WORDS: &[(&str, Word)] = &[
    ("abs", F), ("accessible", R), ("account", K), ("acos", F), ("action", K), ("active", K), ("add", R),
    ("add_months", F), ("adddate", F), ("addtime", F), ("admin", K), ("aes_decrypt", F), ("aes_encrypt", F),
    ("after", K), ("against", K), ("aggregate", K), ("algorithm", K), ("all", R), ("alter", R), ("always", K),
    ("analyze", R), ("and", R), ("any", K), ("any_value", F), ("array", K), ("as", R), ("asc", R), ("ascii", K),
    ("asensitive", R), ("asin", F), ("at", K), ("atan", F), ("atan2", F), ("atomic", K), ("attribute", K),
    ("authentication", K), ("authors", K), ("auto", K), ("auto_extend_size", K), ("auto_increment", K),
    ("autoextend_size", K), ("avg", K), ("avg_row_length", K), ("backup", K), ("before", R), ("begin", K),
    ("benchmark", F), ("bernoulli", K), ("between", R), ("bigint", R), ("bin", F), ("bin_to_uuid", F), ("binary", R),
    ("binlog", K), ("binlog_gtid_pos", F), ("bit", K), ("bit_and", F), ("bit_count", F), ("bit_length", F),
    ("bit_or", F), ("bit_xor", F), ("blob", R), ("block", K), ("body", K), ("bool", K), ("boolean", K), ("both", R),
    ("btree", K), ("buckets", K), ("bulk", K), ("by", R), ("byte", K), ("cache", K), ("call", R),
    ("can_access_column", F), ("can_access_database", F), ("cascade", R), ("cascaded", K), ("case", R), ("cast", F),
    ("catalog_name", K), ("ceil", F), ("ceiling", F), ("chain", K), ("challenge_response", K), ("change", R),
    ("changed", K), ("channel", K), ("char", R), ("char_length", F), ("character", R), ("character_length", F),
    ("charset", K), ("check", R), ("checkpoint", K), ("checksum", K), ("chr", F), ("cipher", K), ("class_origin", K),
    ("client", K), ("clob", K), ("clone", K), ("close", K), ("coalesce", K), ("code", K), ("coercibility", F),
    ("collate", R), ("collation", K), ("column", R), ("column_add", K), ("column_check", K), ("column_create", K),
    ("column_delete", K), ("column_exists", F), ("column_get", K), ("column_json", F), ("column_list", F),
    ("column_name", K), ("columns", K), ("comment", K), ("commit", K), ("committed", K), ("compact", K),
    ("completion", K), ("component", K), ("components", K), ("compress", F), ("compressed", K), ("concat", F),
    ("concat_operator_oracle", F), ("concat_ws", F), ("concurrent", K), ("condition", R), ("connection", K),
    ("connection_id", F), ("consistent", K), ("constraint", R), ("constraint_catalog", K), ("constraint_name", K),
    ("constraint_schema", K), ("contains", K), ("context", K), ("continue", R), ("contributors", K), ("conv", F),
    ("convert", R), ("convert_tz", F), ("cos", F), ("cot", F), ("count", F), ("cpu", K), ("crc32", F), ("crc32c", F),
    ("create", R), ("cross", R), ("cube", R), ("cume_dist", R), ("curdate", F), ("current", K), ("current_date", R),
    ("current_pos", K), ("current_role", R), ("current_time", R), ("current_timestamp", R), ("current_user", R),
    ("cursor", R), ("cursor_name", K), ("curtime", F), ("cycle", K), ("data", K), ("database", R), ("databases", R),
    ("datafile", K), ("date", K), ("date_add", F), ("date_format", F), ("date_sub", F), ("datediff", F),
    ("datetime", K), ("day", K), ("day_hour", R), ("day_microsecond", R), ("day_minute", R), ("day_second", R),
    ("dayname", F), ("dayofmonth", F), ("dayofweek", F), ("dayofyear", F), ("deallocate", K), ("dec", R),
    ("decimal", R), ("declare", R), ("decode", F), ("decode_histogram", F), ("decode_oracle", F), ("default", R),
    ("default_auth", K), ("definer", K), ("definition", K), ("degrees", F), ("delay_key_write", K), ("delayed", R),
    ("delete", R), ("delete_domain_id", R), ("dense_rank", R), ("des_decrypt", F), ("des_encrypt", F),
    ("des_key_file", K), ("desc", R), ("describe", R), ("description", K), ("deterministic", R), ("diagnostics", K),
    ("directory", K), ("disable", K), ("discard", K), ("disk", K), ("distinct", R), ("distinctrow", R), ("div", R),
    ("do", K), ("do_domain_ids", R), ("double", R), ("drop", R), ("dual", R), ("dumpfile", K), ("duplicate", K),
    ("dynamic", K), ("each", R), ("else", R), ("elseif", R), ("elsif", K), ("elt", F), ("empty", R), ("enable", K),
    ("enclosed", R), ("encode", F), ("encrypt", F), ("encryption", K), ("end", K), ("ends", K), ("enforced", K),
    ("engine", K), ("engine_attribute", K), ("engines", K), ("enum", K), ("error", K), ("errors", K), ("escape", K),
    ("escaped", R), ("event", K), ("events", K), ("every", K), ("examined", K), ("except", R), ("exception", K),
    ("exchange", K), ("exclude", K), ("execute", K), ("exists", R), ("exit", R), ("exp", F), ("expansion", K),
    ("expire", K), ("explain", R), ("export", K), ("export_set", F), ("extended", K), ("extent_size", K),
    ("extract", F), ("extractvalue", F), ("factor", K), ("failed_login_attempts", K), ("false", R), ("fast", K),
    ("faults", K), ("federated", K), ("fetch", R), ("field", F), ("fields", K), ("file", K), ("file_block_size", K),
    ("filter", K), ("find_in_set", F), ("finish", K), ("first", K), ("first_value", R), ("fixed", K), ("float", R),
    ("float4", R), ("float8", R), ("floor", F), ("flush", K), ("following", K), ("follows", K), ("for", R),
    ("force", R), ("foreign", R), ("format", K), ("format_bytes", F), ("format_pico_time", F), ("found", K),
    ("found_rows", F), ("from", R), ("from_base64", F), ("from_days", F), ("from_unixtime", F), ("full", K),
    ("fulltext", R), ("function", R), ("gathering", K), ("gen_state", K), ("general", K), ("generate", K),
    ("generated", R), ("geomcollection", K), ("get", R), ("get_format", K), ("get_lock", F),
    ("get_master_public_key", K), ("get_source_public_key", K), ("global", K), ("goto", K), ("grant", R),
    ("grants", K), ("greatest", F), ("group", R), ("group_concat", F), ("group_replication", K), ("grouping", R),
    ("groups", R), ("gtid_only", K), ("gtid_subset", F), ("gtid_subtract", F), ("gtids", K), ("guided", K),
    ("handler", K), ("hard", K), ("hash", K), ("having", R), ("help", K), ("hex", F), ("high_priority", R),
    ("histogram", K), ("history", K), ("host", K), ("hosts", K), ("hour", K), ("hour_microsecond", R),
    ("hour_minute", R), ("hour_second", R), ("icu_version", F), ("id", K), ("identified", K), ("if", R),
    ("ifnull", F), ("ignore", R), ("ignore_domain_ids", R), ("ignore_server_ids", K), ("ignored", K),
    ("immediate", K), ("import", K), ("in", R), ("inactive", K), ("increment", K), ("index", R), ("indexes", K),
    ("inet6_aton", F), ("inet6_ntoa", F), ("inet_aton", F), ("inet_ntoa", F), ("infile", R), ("initial", K),
    ("initial_size", K), ("initiate", K), ("inner", R), ("inout", R), ("insensitive", R), ("insert", R),
    ("insert_method", K), ("install", K), ("instance", K), ("instr", F), ("int", R), ("int1", R), ("int2", R),
    ("int3", R), ("int4", R), ("int8", R), ("integer", R), ("intersect", R), ("interval", R), ("into", R),
    ("invisible", K), ("invoker", K), ("io", K), ("io_after_gtids", R), ("io_before_gtids", R), ("io_thread", K),
    ("ipc", K), ("is", R), ("is_free_lock", F), ("is_ipv4", F), ("is_ipv4_compat", F), ("is_ipv4_mapped", F),
    ("is_ipv6", F), ("is_used_lock", F), ("is_uuid", F), ("isnull", F), ("isolation", K), ("isopen", K),
    ("issuer", K), ("iterate", R), ("join", R), ("json", K), ("json_array", F), ("json_array_append", F),
    ("json_array_insert", F), ("json_arrayagg", F), ("json_compact", F), ("json_contains", F),
    ("json_contains_path", F), ("json_depth", F), ("json_detailed", F), ("json_equals", F), ("json_exists", F),
    ("json_extract", F), ("json_insert", F), ("json_keys", F), ("json_length", F), ("json_loose", F),
    ("json_merge", F), ("json_merge_patch", F), ("json_merge_preserve", F), ("json_normalize", F), ("json_object", F),
    ("json_objectagg", F), ("json_overlaps", F), ("json_pretty", F), ("json_query", F), ("json_quote", F),
    ("json_remove", F), ("json_replace", F), ("json_schema_valid", F), ("json_search", F), ("json_set", F),
    ("json_storage_free", F), ("json_storage_size", F), ("json_table", R), ("json_type", F), ("json_unquote", F),
    ("json_valid", F), ("json_value", K), ("key", R), ("key_block_size", K), ("keyring", K), ("keys", R), ("kill", R),
    ("lag", R), ("language", K), ("last", K), ("last_day", F), ("last_insert_id", F), ("last_value", R),
    ("lastval", K), ("lateral", R), ("lcase", F), ("lead", R), ("leading", R), ("least", F), ("leave", R),
    ("leaves", K), ("left", R), ("length", F), ("lengthb", F), ("less", K), ("level", K), ("like", R), ("limit", R),
    ("linear", R), ("lines", R), ("linestring", F), ("list", K), ("ln", F), ("load", R), ("load_file", F),
    ("local", K), ("localtime", R), ("localtimestamp", R), ("locate", F), ("lock", R), ("locked", K), ("locks", K),
    ("log", K), ("log10", F), ("log2", F), ("logfile", K), ("logs", K), ("long", R), ("longblob", R), ("longtext", R),
    ("loop", R), ("low_priority", R), ("lower", F), ("lpad", F), ("lpad_oracle", F), ("ltrim", F),
    ("ltrim_oracle", F), ("make_set", F), ("makedate", F), ("maketime", F), ("manual", R), ("master", K),
    ("master_auto_position", K), ("master_bind", R), ("master_compression_algorithms", K),
    ("master_connect_retry", K), ("master_delay", K), ("master_demote_to_replica", R), ("master_demote_to_slave", R),
    ("master_gtid_pos", K), ("master_gtid_wait", F), ("master_heartbeat_period", K), ("master_host", K),
    ("master_log_file", K), ("master_log_pos", K), ("master_password", K), ("master_port", K), ("master_pos_wait", F),
    ("master_public_key_path", K), ("master_retry_count", K), ("master_server_id", K), ("master_ssl", K),
    ("master_ssl_ca", K), ("master_ssl_capath", K), ("master_ssl_cert", K), ("master_ssl_cipher", K),
    ("master_ssl_crl", K), ("master_ssl_crlpath", K), ("master_ssl_key", K), ("master_ssl_verify_server_cert", R),
    ("master_tls_ciphersuites", K), ("master_tls_version", K), ("master_use_gtid", K), ("master_user", K),
    ("master_zstd_compression_level", K), ("match", R), ("max", F), ("max_connections_per_hour", K),
    ("max_queries_per_hour", K), ("max_rows", K), ("max_size", K), ("max_statement_time", K),
    ("max_updates_per_hour", K), ("max_user_connections", K), ("maxvalue", R), ("md5", F), ("median", F),
    ("medium", K), ("mediumblob", R), ("mediumint", R), ("mediumtext", R), ("member", K), ("memory", K), ("merge", K),
    ("message_text", K), ("microsecond", K), ("mid", F), ("middleint", R), ("migrate", K), ("min", F),
    ("min_rows", K), ("minus", K), ("minute", K), ("minute_microsecond", R), ("minute_second", R), ("minvalue", K),
    ("mod", R), ("mode", K), ("modifies", R), ("modify", K), ("monitor", K), ("month", K), ("monthname", F),
    ("multilinestring", K), ("mutex", K), ("mysql", K), ("mysql_errno", K), ("name", K), ("name_const", F),
    ("names", K), ("national", K), ("natural", R), ("natural_sort_key", F), ("nchar", K), ("nested", K),
    ("network_namespace", K), ("never", K), ("next", K), ("nextval", K), ("no", K), ("no_wait", K),
    ("no_write_to_binlog", R), ("nocache", K), ("nocycle", K), ("nodegroup", K), ("nomaxvalue", K), ("nominvalue", K),
    ("none", K), ("not", R), ("notfound", K), ("now", F), ("nowait", K), ("nth_value", R), ("ntile", R), ("null", R),
    ("nullif", F), ("nulls", K), ("number", K), ("numeric", R), ("nvarchar", K), ("nvl", F), ("nvl2", F), ("oct", F),
    ("octet_length", F), ("of", R), ("off", K), ("offset", R), ("oj", K), ("old", K), ("old_password", K), ("on", R),
    ("one", K), ("online", K), ("only", K), ("open", K), ("optimize", R), ("optimizer_costs", R), ("option", R),
    ("optional", K), ("optionally", R), ("options", K), ("or", R), ("ord", F), ("order", R), ("ordinality", K),
    ("organization", K), ("others", K), ("out", R), ("outer", R), ("outfile", R), ("over", R), ("overlaps", K),
    ("owner", K), ("pack_keys", K), ("package", K), ("page", K), ("page_checksum", R), ("parallel", R),
    ("parse_gcol_expr", K), ("parse_tree", K), ("parse_vcol_expr", R), ("parser", K), ("partial", K),
    ("partition", R), ("partitioning", K), ("partitions", K), ("password", K), ("password_lock_time", K), ("path", K),
    ("percent_rank", R), ("percentile_cont", F), ("percentile_disc", F), ("period", K), ("period_add", F),
    ("period_diff", F), ("persist", K), ("persist_only", K), ("persistent", K), ("phase", K), ("pi", F),
    ("plugin", K), ("plugin_dir", K), ("plugins", K), ("point", F), ("polygon", F), ("port", K), ("portion", R),
    ("position", F), ("pow", F), ("power", F), ("precedes", K), ("preceding", K), ("precision", R), ("prepare", K),
    ("preserve", K), ("prev", K), ("previous", K), ("primary", R), ("privilege_checks_user", K), ("privileges", K),
    ("procedure", R), ("process", K), ("processlist", K), ("profile", K), ("profiles", K), ("proxy", K),
    ("ps_current_thread_id", F), ("ps_thread_id", F), ("purge", R), ("qualify", R), ("quarter", K), ("query", K),
    ("quick", K), ("quote", F), ("radians", F), ("raise", K), ("rand", F), ("random", K), ("random_bytes", F),
    ("range", R), ("rank", R), ("raw", K), ("read", R), ("read_only", K), ("read_write", R), ("reads", R),
    ("real", R), ("rebuild", K), ("recover", K), ("recursive", R), ("redo_buffer_size", K), ("redofile", K),
    ("redundant", K), ("ref_system_id", R), ("reference", K), ("references", R), ("regexp", R), ("regexp_instr", F),
    ("regexp_like", F), ("regexp_replace", F), ("regexp_substr", F), ("registration", K), ("relay", K),
    ("relay_log_file", K), ("relay_log_pos", K), ("relay_log_space", K), ("relay_thread", K), ("relaylog", K),
    ("release", R), ("release_all_locks", F), ("release_lock", F), ("reload", K), ("remove", K), ("rename", R),
    ("reorganize", K), ("repair", K), ("repeat", R), ("repeatable", K), ("replace", R), ("replace_oracle", F),
    ("replay", K), ("replica", K), ("replica_pos", K), ("replicas", K), ("replicate_do_db", K),
    ("replicate_do_table", K), ("replicate_ignore_db", K), ("replicate_ignore_table", K), ("replicate_rewrite_db", K),
    ("replicate_wild_do_table", K), ("replicate_wild_ignore_table", K), ("replication", K), ("require", R),
    ("require_row_format", K), ("require_table_primary_key_check", K), ("reset", K), ("resignal", R), ("resource", K),
    ("respect", K), ("restart", K), ("restore", K), ("restrict", R), ("resume", K), ("retain", K), ("return", R),
    ("returned_sqlstate", K), ("returning", R), ("returns", K), ("reuse", K), ("reverse", K), ("revoke", R),
    ("right", R), ("rlike", R), ("role", K), ("roles_graphml", F), ("rollback", K), ("rollup", K), ("rotate", K),
    ("round", F), ("routine", K), ("row", R), ("row_count", K), ("row_format", K), ("row_number", R), ("rowcount", K),
    ("rownum", K), ("rows", R), ("rowtype", K), ("rpad", F), ("rpad_oracle", F), ("rtree", K), ("rtrim", F),
    ("rtrim_oracle", F), ("s3", K), ("savepoint", K), ("schedule", K), ("schema", R), ("schema_name", K),
    ("schemas", R), ("sec_to_time", F), ("second", K), ("second_microsecond", R), ("secondary", K),
    ("secondary_engine", K), ("secondary_engine_attribute", K), ("secondary_load", K), ("secondary_unload", K),
    ("security", K), ("select", R), ("sensitive", R), ("separator", R), ("sequence", K), ("serial", K),
    ("serializable", K), ("server", K), ("session", K), ("session_user", F), ("set", R), ("setval", K),
    ("sformat", F), ("sha", F), ("sha1", F), ("sha2", F), ("share", K), ("show", R), ("shutdown", K), ("sign", F),
    ("signal", R), ("signed", K), ("simple", K), ("sin", F), ("skip", K), ("slave", K), ("slave_pos", K),
    ("slaves", K), ("sleep", F), ("slow", K), ("smallint", R), ("snapshot", K), ("socket", K), ("soft", K),
    ("some", K), ("soname", K), ("soundex", F), ("sounds", K), ("source", K), ("source_auto_position", K),
    ("source_bind", K), ("source_compression_algorithms", K), ("source_connect_retry", K),
    ("source_connection_auto_failover", K), ("source_delay", K), ("source_heartbeat_period", K), ("source_host", K),
    ("source_log_file", K), ("source_log_pos", K), ("source_password", K), ("source_port", K), ("source_pos_wait", F),
    ("source_public_key_path", K), ("source_retry_count", K), ("source_ssl", K), ("source_ssl_ca", K),
    ("source_ssl_capath", K), ("source_ssl_cert", K), ("source_ssl_cipher", K), ("source_ssl_crl", K),
    ("source_ssl_crlpath", K), ("source_ssl_key", K), ("source_ssl_verify_server_cert", K),
    ("source_tls_ciphersuites", K), ("source_tls_version", K), ("source_user", K),
    ("source_zstd_compression_level", K), ("space", F), ("spatial", R), ("specific", R), ("sql", R),
    ("sql_after_gtids", R), ("sql_after_mts_gaps", K), ("sql_before_gtids", R), ("sql_big_result", R),
    ("sql_buffer_result", K), ("sql_cache", K), ("sql_calc_found_rows", R), ("sql_no_cache", K),
    ("sql_small_result", R), ("sql_thread", K), ("sql_tsi_day", K), ("sql_tsi_hour", K), ("sql_tsi_minute", K),
    ("sql_tsi_month", K), ("sql_tsi_quarter", K), ("sql_tsi_second", K), ("sql_tsi_week", K), ("sql_tsi_year", K),
    ("sqlexception", R), ("sqlstate", R), ("sqlwarning", R), ("sqrt", F), ("srid", K), ("ssl", R),
    ("st_asgeojson", F), ("st_astext", F), ("st_contains", F), ("st_distance", F), ("st_distance_sphere", F),
    ("st_geomfromtext", F), ("st_intersects", F), ("st_srid", F), ("st_within", F), ("st_x", F), ("st_y", F),
    ("stacked", K), ("stage", K), ("start", K), ("starting", R), ("starts", K), ("statement", K),
    ("statement_digest", F), ("statement_digest_text", F), ("stats_auto_recalc", R), ("stats_persistent", R),
    ("stats_sample_pages", R), ("status", K), ("std", F), ("stddev", F), ("stddev_pop", F), ("stddev_samp", F),
    ("stop", K), ("storage", K), ("stored", R), ("str_to_date", F), ("straight_join", R), ("strcmp", F),
    ("stream", K), ("string", K), ("subclass_origin", K), ("subdate", F), ("subject", K), ("subpartition", K),
    ("subpartitions", K), ("substr", F), ("substr_oracle", F), ("substring", F), ("substring_index", F),
    ("subtime", F), ("sum", F), ("super", K), ("suspend", K), ("swaps", K), ("switches", K), ("sys_guid", F),
    ("sysdate", K), ("system", R), ("system_time", K), ("system_user", F), ("table", R), ("table_checksum", K),
    ("table_name", K), ("tables", K), ("tablesample", R), ("tablespace", K), ("tan", F), ("temporary", K),
    ("temptable", K), ("terminated", R), ("text", K), ("than", K), ("then", R), ("thread_priority", K),
    ("threads", K), ("ties", K), ("time", K), ("time_format", F), ("time_to_sec", F), ("timediff", F),
    ("timestamp", K), ("timestampadd", K), ("timestampdiff", K), ("tinyblob", R), ("tinyint", R), ("tinytext", R),
    ("tls", K), ("to", R), ("to_base64", F), ("to_char", F), ("to_days", F), ("to_seconds", F), ("trailing", R),
    ("transaction", K), ("transactional", K), ("trigger", R), ("triggers", K), ("trim", F), ("trim_oracle", F),
    ("true", R), ("truncate", K), ("type", K), ("ucase", F), ("unbounded", K), ("uncommitted", K), ("uncompress", F),
    ("uncompressed_length", F), ("undefined", K), ("undo", R), ("undo_buffer_size", K), ("undofile", K), ("unhex", F),
    ("unicode", K), ("uninstall", K), ("union", R), ("unique", R), ("unix_timestamp", F), ("unknown", K),
    ("unlock", R), ("unregister", K), ("unsigned", R), ("until", K), ("update", R), ("updatexml", F), ("upgrade", K),
    ("upper", F), ("url", K), ("usage", R), ("use", R), ("use_frm", K), ("user", K), ("user_resources", K),
    ("using", R), ("utc_date", R), ("utc_time", R), ("utc_timestamp", R), ("uuid", F), ("uuid_short", F),
    ("uuid_to_bin", F), ("validate_password_strength", F), ("validation", K), ("value", K), ("values", R),
    ("var_pop", F), ("var_samp", F), ("varbinary", R), ("varchar", R), ("varchar2", K), ("varcharacter", R),
    ("variables", K), ("variance", F), ("varying", R), ("vcpu", K), ("version", F), ("versioning", K), ("via", K),
    ("view", K), ("virtual", R), ("visible", K), ("wait", K), ("wait_for_executed_gtid_set", F), ("warnings", K),
    ("week", K), ("weekday", F), ("weekofyear", F), ("weight_string", K), ("when", R), ("where", R), ("while", R),
    ("window", R), ("with", R), ("within", K), ("without", K), ("work", K), ("wrapper", K), ("write", R),
    ("wsrep_last_seen_gtid", F), ("wsrep_last_written_gtid", F), ("wsrep_sync_wait_upto_gtid", F), ("x509", K),
    ("xa", K), ("xid", K), ("xml", K), ("xor", R), ("year", K), ("year_month", R), ("yearweek", F), ("zerofill", R),
    ("zone", K),
];

#[rustfmt::skip]
static ONLY_IN_MYSQL: &[&str] = &[
    "active", "array", "attribute", "authentication", "auto_extend_size", "bernoulli", "buckets", "bulk",
    "challenge_response", "clone", "component", "components", "default_auth", "definition", "description",
    "encryption", "enforced", "engine_attribute", "factor", "failed_login_attempts", "file_block_size", "filter",
    "finish", "gathering", "gen_state", "generate", "geomcollection", "get_master_public_key",
    "get_source_public_key", "group_replication", "grouping", "groups", "gtid_only", "gtids", "guided",
    "histogram", "inactive", "initial", "initiate", "instance", "io_after_gtids", "io_before_gtids", "json_value",
    "keyring", "lateral", "log", "manual", "master_auto_position", "master_bind", "master_compression_algorithms",
    "master_public_key_path", "master_retry_count", "master_tls_ciphersuites", "master_tls_version",
    "master_zstd_compression_level", "member", "multilinestring", "network_namespace", "nulls", "off", "oj",
    "old", "optimizer_costs", "optional", "organization", "parallel", "parse_gcol_expr", "parse_tree",
    "password_lock_time", "persist", "persist_only", "plugin_dir", "privilege_checks_user", "qualify", "random",
    "reference", "registration", "relay_log_space", "replicate_do_db", "replicate_do_table",
    "replicate_ignore_db", "replicate_ignore_table", "replicate_rewrite_db", "replicate_wild_do_table",
    "replicate_wild_ignore_table", "require_row_format", "require_table_primary_key_check", "resource", "respect",
    "retain", "rotate", "s3", "secondary", "secondary_engine", "secondary_engine_attribute", "secondary_load",
    "secondary_unload", "source_auto_position", "source_bind", "source_compression_algorithms",
    "source_connect_retry", "source_connection_auto_failover", "source_delay", "source_heartbeat_period",
    "source_host", "source_log_file", "source_log_pos", "source_password", "source_port",
    "source_public_key_path", "source_retry_count", "source_ssl", "source_ssl_ca", "source_ssl_capath",
    "source_ssl_cert", "source_ssl_cipher", "source_ssl_crl", "source_ssl_crlpath", "source_ssl_key",
    "source_ssl_verify_server_cert", "source_tls_ciphersuites", "source_tls_version", "source_user",
    "source_zstd_compression_level", "sql_after_gtids", "sql_after_mts_gaps", "sql_before_gtids", "srid",
    "stacked", "stream", "tablesample", "thread_priority", "tls", "unregister", "url", "validation", "vcpu",
    "xid", "zone",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_and_short_enough() {
        assert!(WORDS.is_sorted_by(|(one, _), (other, _)| one < other));
        assert!(WORDS.iter().all(|(word, _)| word.len() <= LONGEST));
    }

    #[test]
    fn words_are_found_in_any_case() {
        assert_eq!(of(b"Select"), Some(Word::Reserved));
        assert_eq!(of(b"begin"), Some(Word::Keyword));
        assert_eq!(of(b"GET_LOCK"), Some(Word::Function));
        assert_eq!(of(b"users"), None);
        assert_eq!(of(&[b'a'; 200]), None);
    }
}
