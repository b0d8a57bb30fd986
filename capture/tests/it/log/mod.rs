//! Server logs become requests.

mod files;
mod maxscale;
mod mysql_general;
mod mysql_slow;
mod mysql_slow_files;
mod noise;
mod postgresql_csv;
mod proxysql;
pub mod scene;
