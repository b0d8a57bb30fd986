//! Asks the primary for its catalogue.

mod mysql;
mod postgresql;

use super::Catalog;
use crate::control::{Client, Control, ControlError};

impl Catalog {
    /// Asks the primary for its catalogue.
    pub async fn snapshot(primary: &Control) -> Result<Self, ControlError> {
        let what = "read its catalogue";
        match primary.client() {
            Client::Postgresql(control) => postgresql::read(control.client()).await.map_err(primary.failed(what)),
            Client::Mysql(control) => mysql::read(control).await.map_err(primary.failed(what)),
        }
    }
}
