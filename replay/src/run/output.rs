//! Whether the run can be written, found out before anything is connected to or touched.

use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};
use splitproof_capture::trace::check_directory;

use super::{Order, ReplayError};

/// Refuses a run's directory that is the trace, lies inside it, holds something else, or cannot be written to.
pub fn check(order: &Order) -> Result<(), ReplayError> {
    let run = resolved(&order.run).map_err(|source| unwritable(&order.run, source))?;
    if let Ok(trace) = order.trace.canonicalize() {
        if run == trace {
            return Err(ReplayError::SameDirectory(order.run.clone()));
        }
        if run.starts_with(&trace) {
            return Err(ReplayError::InsideTrace(order.run.clone()));
        }
    }
    check_directory(&order.run, order.existing)?;
    let there = run.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    access(there, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| unwritable(there, error.into()))?;
    if there.is_dir() { Ok(()) } else { Err(unwritable(there, io::ErrorKind::NotADirectory.into())) }
}

fn unwritable(directory: &Path, source: io::Error) -> ReplayError {
    ReplayError::Output { directory: directory.to_owned(), source }
}

/// The path without links and `..`, though its last parts may not be there yet.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut out = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
        if let Ok(real) = out.canonicalize() {
            out = real;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_resolved_though_its_end_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        std::fs::create_dir(home.join("trace")).unwrap();
        std::os::unix::fs::symlink(home.join("trace"), home.join("link")).unwrap();
        let resolved = |path: &str| resolved(&home.join(path)).unwrap();
        assert_eq!(resolved("link"), home.join("trace"));
        assert_eq!(resolved("link/new/run"), home.join("trace/new/run"));
        assert_eq!(resolved("link/../run"), home.join("run"));
        assert_eq!(resolved("missing/../trace"), home.join("trace"));
    }
}
