//! Server logs become requests.

mod postgresql_csv;
pub mod scene;
