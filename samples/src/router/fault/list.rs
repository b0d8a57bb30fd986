//! Every fault: its name, where it makes sense, and what it does.

use std::fmt;

use super::super::node::Engine;

/// Declares the faults in one table.
macro_rules! faults {
    ($($variant:ident $name:literal $engines:ident $what:literal)*) => {
        /// A way to be wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $(#[doc = $what] $variant,)* }

        impl Fault {
            /// Every fault.
            pub const ALL: &[Fault] = &[$(Fault::$variant),*];

            /// Its name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Fault::$variant => $name,)* }
            }

            /// The engines on which it makes sense.
            pub fn engines(self) -> &'static [Engine] {
                match self { $(Fault::$variant => $engines,)* }
            }

            /// What it does.
            pub fn what(self) -> &'static str {
                match self { $(Fault::$variant => $what,)* }
            }
        }
    };
}

const BOTH: &[Engine] = &[Engine::Postgresql, Engine::Mysql];
const PG: &[Engine] = &[Engine::Postgresql];
const MY: &[Engine] = &[Engine::Mysql];

faults! {
    ForUpdateToReplica "for-update-to-replica" BOTH "SELECT ... FOR UPDATE runs on a replica."
    ForShareToReplica "for-share-to-replica" BOTH "SELECT ... FOR SHARE (LOCK IN SHARE MODE) runs on a replica."
    CteWriteToReplica "cte-write-to-replica" PG "A WITH that writes runs on a replica."
    VolatileFunctionToReplica "volatile-function-to-replica" BOTH "A SELECT of a function in volatile_functions runs on a replica."
    NextvalToReplica "nextval-to-replica" BOTH "A SELECT that draws from a sequence runs on a replica."
    CallToReplica "call-to-replica" BOTH "CALL runs on a replica."
    ReturningToReplica "returning-to-replica" BOTH "A write that returns rows runs on a replica."
    MultiStatementByFirstWord "multi-statement-by-first-word" BOTH "A text of several statements goes where its first statement belongs."
    LeadingCommentToPrimary "leading-comment-to-primary" BOTH "A read behind a comment runs on the primary."
    AllToPrimary "all-to-primary" BOTH "Everything runs on the primary."
    StickyForever "sticky-forever" BOTH "After its first write all reads of a session run on the primary."
    SplitTransaction "split-transaction" BOTH "A read inside a transaction that may write runs on a replica, outside the transaction."
    BeginOnReplicaByFirstSelect "begin-on-replica-by-first-select" BOTH "A transaction whose first statement is a read runs on a replica as a whole."
    AutocommitOffIgnored "autocommit-off-ignored" MY "With autocommit off, reads run on a replica as if each were a transaction of its own."
    SavepointElsewhere "savepoint-elsewhere" BOTH "SAVEPOINT, ROLLBACK TO and RELEASE run on a replica."
    SessionSetOnOneNode "session-set-on-one-node" BOTH "SET runs on the primary only."
    TempTableReadOnReplica "temp-table-read-on-replica" BOTH "A read of a temporary table runs on a replica."
    UserVariableLost "user-variable-lost" MY "A read of a user variable runs on a server that does not have it."
    LastInsertIdElsewhere "last-insert-id-elsewhere" BOTH "LAST_INSERT_ID(), or lastval() and currval(), is asked on a replica."
    FoundRowsElsewhere "found-rows-elsewhere" MY "FOUND_ROWS() or ROW_COUNT() is asked on another server than the statement before."
    AdvisoryLockElsewhere "advisory-lock-elsewhere" BOTH "Advisory locks are taken and released on a replica."
    PreparedIgnoresText "prepared-ignores-text" BOTH "A prepared statement of the protocol runs on a replica, whatever it does."
    StaleReadAfterWrite "stale-read-after-write" BOTH "No read waits for the replica."
    ReturningKeepsGtid "returning-keeps-gtid" BOTH "A write that returns rows does not advance the position that reads wait for."
    DuplicateCommit "duplicate-commit" BOTH "A transaction whose COMMIT is in flight is run a second time."
    WriteOnEveryNode "write-on-every-node" BOTH "Writes outside a transaction run on every server."
    RowsDropped "rows-dropped" BOTH "Of every result with several rows the second one is lost."
    ReplicaDownFallsBackUnbounded "replica-down-falls-back-unbounded" BOTH "Once a replica failed (after 20 reads, without a real failure) all reads run on the primary for good."
    LaggingReplicaStillUsed "lagging-replica-still-used" BOTH "Replica lag is not looked at, and a read that waited 10 ms in vain runs on the replica all the same."
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no fault of this engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownFault {
    /// There is no such fault.
    #[error("there is no fault {0:?}: see --list-faults")]
    Name(String),
    /// It makes no sense on the engine.
    #[error("the fault {fault} makes no sense on {engine}")]
    Engine {
        /// The fault.
        fault: Fault,
        /// The engine.
        engine: &'static str,
    },
}

/// The faults that a router commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// The faults of these names.
    pub fn parse<S: AsRef<str>>(names: &[S], engine: Engine) -> Result<Faults, UnknownFault> {
        let fault = |name: &S| {
            let name = name.as_ref();
            let fault = Fault::ALL.iter().copied().find(|fault| fault.name() == name);
            let fault = fault.ok_or_else(|| UnknownFault::Name(name.to_owned()))?;
            match fault.engines().contains(&engine) {
                true => Ok(fault),
                false => Err(UnknownFault::Engine { fault, engine: engine.name() }),
            }
        };
        names.iter().map(fault).collect::<Result<_, _>>().map(Faults)
    }

    /// Whether this one is among them.
    pub fn has(&self, fault: Fault) -> bool {
        self.0.contains(&fault)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Fault> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_belong_to_an_engine() {
        for fault in Fault::ALL {
            assert_eq!(Fault::ALL.iter().filter(|other| other.name() == fault.name()).count(), 1, "{fault}");
            assert!(!fault.engines().is_empty() && fault.what().ends_with('.'), "{fault}");
        }
        assert_eq!(Fault::ALL.len(), 29);
    }

    #[test]
    fn a_fault_of_the_other_engine_is_refused() {
        let refused = Faults::parse(&["found-rows-elsewhere"], Engine::Postgresql).unwrap_err();
        assert_eq!(refused.to_string(), "the fault found-rows-elsewhere makes no sense on postgresql");
        assert!(Faults::parse(&["no-such"], Engine::Mysql).unwrap_err().to_string().contains("--list-faults"));
        let faults = Faults::parse(&["call-to-replica", "rows-dropped"], Engine::Mysql).unwrap();
        assert!(faults.has(Fault::RowsDropped) && !faults.has(Fault::AllToPrimary));
    }
}
