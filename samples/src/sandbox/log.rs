//! The tail of a server's log, for error messages.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const TAIL_BYTES: u64 = 4096;
const TAIL_LINES: usize = 12;

/// The last lines of a log as an indented paragraph, or an empty string when there is no such log.
pub fn tail(path: &Path) -> String {
    let Ok(text) = last_bytes(path) else { return String::new() };
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default();
    if shown.is_empty() {
        return String::new();
    }
    format!("\n  the end of {}:\n    {}", path.display(), shown.join("\n    "))
}

fn last_bytes(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_only_the_last_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let text: String = (0..5000).map(|n| format!("line {n}\n")).collect();
        std::fs::write(&path, text).unwrap();
        let tail = tail(&path);
        assert!(tail.ends_with("line 4999"), "{tail}");
        assert_eq!(tail.lines().count(), 2 + TAIL_LINES);
    }

    #[test]
    fn a_missing_log_is_no_error() {
        assert_eq!(tail(Path::new("/nonexistent/log")), "");
    }
}
