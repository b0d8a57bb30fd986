//! An error as a user reads it.

use std::error::Error;

/// An error and its causes on one line, each said once: many errors tell their cause in their own text already.
pub fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let told = cause.to_string();
        if !text.contains(&told) {
            text.push_str(": ");
            text.push_str(&told);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{file}: cannot be read: {source}; check the disk")]
    struct Told {
        file: &'static str,
        source: std::io::Error,
    }

    #[derive(Debug, thiserror::Error)]
    #[error("nothing was recorded")]
    struct Outer(#[source] Told);

    #[test]
    fn a_cause_is_said_once() {
        let told = Told { file: "a.pcap", source: std::io::Error::other("broken sector") };
        assert_eq!(causes(&told), "a.pcap: cannot be read: broken sector; check the disk");
        let outer = Outer(told);
        assert_eq!(causes(&outer), "nothing was recorded: a.pcap: cannot be read: broken sector; check the disk");
    }
}
