//! Server logs become requests.

mod cli;
mod damage;
mod files;
mod maxscale;
mod mysql_general;
mod mysql_server;
mod mysql_slow;
mod mysql_slow_files;
mod noise;
mod pgpool;
mod postgresql_corpus;
mod postgresql_csv;
mod postgresql_json;
mod postgresql_requests;
mod postgresql_server;
mod postgresql_sessions;
mod postgresql_stderr;
mod proxysql;
pub mod scene;
