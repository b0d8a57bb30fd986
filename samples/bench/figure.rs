//! A figure with its goal.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

/// How a figure is held against its goal.
#[derive(Clone, Copy, Debug, Serialize)]
pub enum Goal {
    /// At least this.
    #[serde(rename = ">=")]
    AtLeast(f64),
    /// At most this.
    #[serde(rename = "<=")]
    AtMost(f64),
}

/// A measured ratio.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// What it is.
    pub value: f64,
    /// What it should be.
    pub goal: Goal,
    /// The absolute numbers behind it.
    pub detail: String,
}

impl Figure {
    fn line(&self) -> String {
        let (sign, goal, kept) = match self.goal {
            Goal::AtLeast(goal) => (">=", goal, self.value >= goal),
            Goal::AtMost(goal) => ("<=", goal, self.value <= goal),
        };
        format!("bench {} {:.2} goal {sign} {goal} {}", self.name, self.value, if kept { "ok" } else { "short" })
    }
}

/// Prints the absolute numbers, then one line per figure, and keeps them as JSON.
pub fn report(figures: &[Figure], json: &Path) -> Result<()> {
    for figure in figures {
        println!("{}: {}", figure.name, figure.detail);
    }
    for figure in figures {
        println!("{}", figure.line());
    }
    if let Some(folder) = json.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    }
    let text = serde_json::to_string_pretty(figures)?;
    std::fs::write(json, text).with_context(|| format!("write {}", json.display()))
}
