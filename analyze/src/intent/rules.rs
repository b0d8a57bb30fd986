//! In what the engines' sessions differ.

use splitproof_capture::sql::Isolation;
use splitproof_capture::trace::Engine;

/// In what the engines' sessions differ, as far as it decides where a statement belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// A statement that fails makes its transaction useless until it is rolled back.
    pub errors_fail_transactions: bool,
    /// A rollback takes back settings and temporary tables.
    pub rollback_reverts_state: bool,
    /// BEGIN inside a transaction commits it and opens the next.
    pub begin_commits: bool,
    /// SET TRANSACTION outside a transaction shapes the next one.
    pub shapes_next_transaction: bool,
    /// A read-only server lets a session make temporary tables.
    pub temporary_on_replica: bool,
    /// A replica refuses SERIALIZABLE. Where it does not, reads of such a transaction lock rows, and those outside of
    /// one do not.
    pub replica_refuses_serializable: bool,
    /// Names of temporary tables hide others in a schema of their own.
    pub temporary_schema: bool,
    /// How transactions are isolated, unless somebody says otherwise.
    pub isolation: Isolation,
}

impl Rules {
    /// PostgreSQL: "Transaction Isolation" and "Hot Standby" of its manual. MySQL and MariaDB: "Statements That Cause an
    /// Implicit Commit", "SET TRANSACTION Statement", "Transaction Isolation Levels" and the variable `read_only`.
    pub const fn of(engine: Engine) -> Self {
        let postgresql = matches!(engine, Engine::Postgresql);
        Rules {
            errors_fail_transactions: postgresql,
            rollback_reverts_state: postgresql,
            begin_commits: !postgresql,
            shapes_next_transaction: !postgresql,
            temporary_on_replica: !postgresql,
            replica_refuses_serializable: postgresql,
            temporary_schema: postgresql,
            isolation: if postgresql { Isolation::ReadCommitted } else { Isolation::RepeatableRead },
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Rules::of(Engine::Postgresql)
    }
}
