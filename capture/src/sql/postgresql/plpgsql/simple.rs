//! Statements that end with a semicolon, and what they hand on as SQL.

use super::{Read, Reader};
use crate::sql::lexer::Kind;

impl Reader<'_> {
    /// A statement that ends with a semicolon.
    pub(super) fn simple(&mut self, word: &str) -> Read {
        let (from, end) = (self.at + 1, self.semicolon()?);
        match word {
            "null" if from == end => {}
            "close" if from + 1 == end => {}
            "get" if self.is(from, "diagnostics") || self.is(from + 1, "diagnostics") => {}
            "exit" | "continue" => {
                if let Some(when) = (from..end).find(|&at| self.is(at, "when")) {
                    self.expression(when + 1, end)?;
                }
            }
            "return" => self.returned(from, end)?,
            "perform" | "assert" => self.expression(from, end)?,
            "raise" => self.raise(from, end)?,
            "open" => self.opened(from, end)?,
            "fetch" | "move" => self.fetch(from, end)?,
            "execute" => self.dynamic(),
            "do" => self.unknown("it runs a DO block"),
            // Its body may hold semicolons, so that its end is not known.
            "create" if (from..end).take(4).any(|at| self.is(at, "function") || self.is(at, "procedure")) => {
                return Err(self.lost("a routine is made"));
            }
            _ => self.sql(self.at, end)?,
        }
        self.at = end + 1;
        Ok(())
    }

    fn returned(&mut self, from: usize, end: usize) -> Read {
        if self.is(from, "query") {
            if self.is(from + 1, "execute") {
                self.dynamic();
                return Ok(());
            }
            return self.query(from + 1, end);
        }
        let from = from + usize::from(self.is(from, "next"));
        if from == end { Ok(()) } else { self.expression(from, end) }
    }

    /// `RAISE level 'format', expressions USING option = expression, ...`
    fn raise(&mut self, from: usize, end: usize) -> Read {
        let using = self.outside(from, end).find(|&at| self.is(at, "using")).unwrap_or(end);
        let comma = self.outside(from, using).find(|&at| self.kind(at) == Some(Kind::Comma));
        if let Some(comma) = comma {
            self.expression(comma + 1, using)?;
        }
        let mut at = (using + 1).min(end);
        while at < end {
            let comma = self.outside(at, end).find(|&at| self.kind(at) == Some(Kind::Comma)).unwrap_or(end);
            let value = (at..comma).find(|&at| self.assigns(at)).ok_or_else(|| self.lost("an option has no value"))?;
            self.expression(value + 1, comma)?;
            at = comma + 1;
        }
        Ok(())
    }

    /// `OPEN cursor`, `OPEN cursor (arguments)`, `OPEN cursor FOR query`
    fn opened(&mut self, from: usize, end: usize) -> Read {
        let query = self.outside(from, end).find(|&at| self.is(at, "for"));
        let Some(query) = query else {
            let arguments = (from..end).find(|&at| self.kind(at) == Some(Kind::Open)).unwrap_or(end);
            self.known_cursor(self.name(arguments.saturating_sub(1)));
            return self.arguments(arguments, end);
        };
        let name = (from..query).rev().find(|&at| !self.is(at, "scroll") && !self.is(at, "no"));
        self.cursors.extend(name.map(|at| self.name(at)));
        if self.is(query + 1, "execute") {
            self.dynamic();
            return Ok(());
        }
        self.query(query + 1, end)
    }

    /// `FETCH direction FROM cursor INTO target`
    fn fetch(&mut self, from: usize, end: usize) -> Read {
        let cursor = (from..end).find(|&at| self.is(at, "into")).unwrap_or(end).saturating_sub(1);
        if (from..=cursor).any(|at| self.kind(at) == Some(Kind::Open)) {
            return Err(self.lost("how many rows are fetched is computed"));
        }
        self.known_cursor(self.name(cursor));
        Ok(())
    }

    /// What is read through a cursor is told by its query.
    pub(super) fn known_cursor(&mut self, name: String) {
        if !self.cursors.contains(&name) {
            self.unknown("it reads a cursor whose query stands elsewhere");
        }
    }

    /// A list of arguments in parentheses, or nothing.
    pub(super) fn arguments(&mut self, open: usize, end: usize) -> Read {
        let mut at = open + 1;
        while at < end.saturating_sub(1) {
            let comma = self.outside(at, end - 1).find(|&at| self.kind(at) == Some(Kind::Comma)).unwrap_or(end - 1);
            let named = self.assigns(at + 1) || self.text(at + 1) == "=>";
            self.expression(if named { at + 2 } else { at }, comma)?;
            at = comma + 1;
        }
        Ok(())
    }

    pub(super) fn dynamic(&mut self) {
        self.unknown("it runs a text that it puts together (EXECUTE)");
    }

    fn unknown(&mut self, why: &str) {
        self.found.unknown.get_or_insert_with(|| why.to_owned());
    }

    pub(super) fn expression(&mut self, from: usize, end: usize) -> Read {
        let text = self.span(from, end)?;
        self.found.texts.push(format!("SELECT {text}"));
        Ok(())
    }

    pub(super) fn query(&mut self, from: usize, end: usize) -> Read {
        let text = self.span(from, end)?.to_owned();
        self.found.texts.push(text);
        Ok(())
    }

    /// An SQL statement without the variables that it fills.
    fn sql(&mut self, from: usize, end: usize) -> Read {
        let is_target = |&at: &usize| {
            self.is(at, "into")
                && at > from
                && !self.is(at - 1, "insert")
                && !self.is(at - 1, "merge")
                && !self.is(from, "import")
        };
        let targets: Vec<usize> = (from..end).filter(is_target).collect();
        match targets.as_slice() {
            [] => self.query(from, end),
            [into] => {
                let behind = self.targets(into + 1);
                let before = self.span(from, *into)?;
                let after = if behind < end { self.span(behind, end)? } else { "" };
                let text = format!("{before} {after}");
                self.found.texts.push(text);
                Ok(())
            }
            _ => Err(self.lost("INTO stands twice")),
        }
    }

    /// The token behind the targets of INTO.
    fn targets(&self, mut at: usize) -> usize {
        at += usize::from(self.is(at, "strict"));
        loop {
            at += 1;
            while let Some(kind) = self.kind(at) {
                match kind {
                    Kind::Dot => at += 2,
                    Kind::OpenBracket => at = self.closing(at).map_or(at, |close| close) + 1,
                    _ => break,
                }
            }
            if self.kind(at) != Some(Kind::Comma) {
                return at;
            }
            at += 1;
        }
    }
}
