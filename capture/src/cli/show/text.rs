//! For people, in 100 columns.

use std::io::{self, Write};

use super::count::Cost;
use super::fitness::Verdict;
use super::{Contents, NameLine, ShapeLine};
use crate::cli::summary::{WIDTH, wrapped, write_counts, write_encrypted, write_losses, write_problems};

impl Contents<'_> {
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "trace     {}", self.trace.display())?;
        writeln!(out, "format    {}, written by {}", self.format, self.tool)?;
        let redacted = if self.redacted { ", redacted" } else { "" };
        let inputs = if self.inputs.is_empty() { String::new() } else { format!(": {}", self.inputs.join(", ")) };
        write_wrapped(out, "source    ", &format!("{} ({}{redacted}){inputs}", self.source, self.engine))?;
        write_counts(out, self.window, self.sessions, self.requests)?;
        for (kind, count) in &self.kinds {
            writeln!(out, "  {kind:<11} {count:>12}")?;
        }
        let outcomes = self.outcomes.iter().map(|(outcome, count)| format!("{outcome} {count}"));
        writeln!(out, "outcomes  {}", outcomes.collect::<Vec<_>>().join(", "))?;
        if self.sessions_joined_midway > 0 {
            writeln!(out, "midway    {} sessions began before the recording", self.sessions_joined_midway)?;
        }
        for (name, node) in &self.nodes {
            writeln!(out, "node      {name}: {} sessions, {} requests", node.sessions, node.requests)?;
            if !node.losses.is_empty() {
                write_losses(out, &node.losses)?;
            }
        }
        self.write_shapes(out)?;
        write_names(out, "users", &self.users)?;
        write_names(out, "databases", &self.databases)?;
        write_names(out, "applications", &self.applications)?;
        write_names(out, "destinations", &self.destinations)?;
        for (key, names) in &self.tags {
            write_names(out, &format!("tag {key}"), names)?;
        }
        write_losses(out, &self.losses)?;
        write_encrypted(out, self.encrypted)?;
        self.write_fitness(out)?;
        write_problems(out, &self.problems)
    }

    fn write_shapes(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "shapes    {}", self.shape_count)?;
        for (by, lines) in [("requests", &self.shapes), ("time", &self.shapes_by_time)] {
            if !lines.is_empty() {
                heading(out, &format!("by {by}"))?;
            }
            for ShapeLine { cost, text, .. } in lines {
                write_line(out, cost, text)?;
            }
        }
        Ok(())
    }

    fn write_fitness(&self, out: &mut impl Write) -> io::Result<()> {
        let verdict = match self.replay.verdict {
            Verdict::Fit => "fit: nothing that is known speaks against it",
            Verdict::InPart => "fit in part",
            Verdict::NotFit => "not fit",
        };
        writeln!(out, "replay    {verdict}")?;
        for reason in &self.replay.reasons {
            write_wrapped(out, "  - ", reason)?;
        }
        Ok(())
    }
}

fn heading(out: &mut impl Write, what: &str) -> io::Result<()> {
    let line = format!("  {:>10} {:>8} {:>12} {:>9}  {what}", "requests", "errors", "total ms", "mean ms");
    writeln!(out, "{}", line.trim_end())
}

fn write_line(out: &mut impl Write, cost: &Cost, text: &str) -> io::Result<()> {
    let Cost { requests, errors, total_ns } = *cost;
    let total = total_ns as f64 / 1e6;
    let mean = total / requests.max(1) as f64;
    // What stands before the text.
    let width = WIDTH - 46;
    writeln!(out, "  {requests:>10} {errors:>8} {total:>12.1} {mean:>9.3}  {}", one_line(text, width))
}

fn write_names(out: &mut impl Write, what: &str, names: &[NameLine]) -> io::Result<()> {
    // Where none is known there is nothing to list.
    if names.iter().all(|line| line.name.is_none()) {
        return Ok(());
    }
    writeln!(out, "{what}")?;
    heading(out, "")?;
    for NameLine { name, cost } in names {
        write_line(out, cost, name.as_deref().unwrap_or("(not known)"))?;
    }
    Ok(())
}

/// A text with a label before its first line and space before the others.
fn write_wrapped(out: &mut impl Write, label: &str, text: &str) -> io::Result<()> {
    let indent = label.len();
    for (at, line) in wrapped(text, WIDTH - indent).iter().enumerate() {
        let before = if at == 0 { label } else { "" };
        writeln!(out, "{before:<indent$}{line}")?;
    }
    Ok(())
}

/// A statement as one line that fits.
fn one_line(text: &str, width: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(width) {
        Some(_) => format!("{}…", line.chars().take(width - 1).collect::<String>()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_sentences_wrapped() {
        assert_eq!(one_line("a  b\n c", 10), "a b c");
        assert_eq!(one_line("abcdefghijkl", 10), "abcdefghi…");
        let mut out = Vec::new();
        write_wrapped(&mut out, "  - ", &"word ".repeat(40)).expect("writes");
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(
            text.lines()
                .all(|line| line.len() <= WIDTH && (line.starts_with("  - word") || line.starts_with("    word")))
        );
    }
}
