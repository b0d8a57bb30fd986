//! Server logs become requests.

mod damage;
mod postgresql_corpus;
mod postgresql_csv;
mod postgresql_json;
mod postgresql_requests;
mod postgresql_server;
mod postgresql_sessions;
mod postgresql_stderr;
pub mod scene;
