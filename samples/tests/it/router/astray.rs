//! Statements that a fault sends astray, and that go where they belong without it.

use splitproof_samples::router::{Engine, Fault};

use super::Running;

/// A session whose last statement goes astray.
pub struct Astray {
    pub fault: Fault,
    pub before: &'static [&'static str],
    pub sql: &'static str,
    /// Where it goes with the fault; without it, to the other one.
    pub goes: &'static str,
    /// The code of the error that it ends with there.
    pub error: Option<&'static str>,
}

/// One that fails on the replica.
pub const fn loud(fault: Fault, before: &'static [&'static str], sql: &'static str, error: &'static str) -> Astray {
    Astray { fault, before, sql, goes: "replica", error: Some(error) }
}

/// One that nobody notices.
pub const fn silent(fault: Fault, before: &'static [&'static str], sql: &'static str, goes: &'static str) -> Astray {
    Astray { fault, before, sql, goes, error: None }
}

/// Each fault of the engine is tested once: by a statement that goes astray, or by a test of its own.
pub fn assert_all_tested(engine: Engine, astray: &[Astray], told_apart: &[Fault]) {
    for fault in Fault::ALL.iter().filter(|fault| fault.engines().contains(&engine)) {
        let tested = astray.iter().filter(|astray| astray.fault == *fault).count()
            + told_apart.iter().filter(|tested| *tested == fault).count();
        assert_eq!(tested, 1, "{fault}");
    }
}

/// Holds each session through a router with its fault and through one without; `go` gives the error that it ends with.
pub fn assert_astray(
    cases: &[Astray],
    router: impl Fn(&[&str]) -> Running,
    go: impl Fn(&Running, &Astray) -> Option<String>,
) {
    let honest = router(&[]);
    for astray in cases {
        let faulty = router(&[astray.fault.name()]);
        assert_eq!(go(&faulty, astray), astray.error.map(str::to_owned), "{}", astray.fault);
        assert_eq!(go(&honest, astray), None, "{}", astray.fault);
        assert_eq!(faulty.destinations(astray.sql), [astray.goes], "{}", astray.fault);
        assert_ne!(honest.destinations(astray.sql), [astray.goes], "{}", astray.fault);
        let entry = faulty.decisions().pop().unwrap();
        assert_eq!(entry.fault.as_deref(), Some(astray.fault.name()));
        assert!(honest.decisions().iter().all(|entry| entry.fault.is_none()));
    }
}

/// What is read without a fault and with it.
pub fn both(right: &str, wrong: &str) -> [Option<String>; 2] {
    [Some(right.to_owned()), Some(wrong.to_owned())]
}
