//! The SQL in a PL/pgSQL body, found at the level of its tokens.
//!
//! The body's own grammar (`pl_gram.y` of PostgreSQL) is followed statement by statement, and what it leaves to SQL is
//! handed on as SQL. PL/pgSQL's own parser is not asked: it wants to know every type that a body names, which takes a
//! database, and what it gives of its tree lacks the defaults of records.
//!
//! Nothing is passed over: a token that no rule takes makes the body one that is not understood.

mod simple;
mod tokens;

use std::collections::BTreeSet;

use crate::sql::lexer::{Kind, Lexer, Token};

/// What a body holds.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Its SQL statements and, as `SELECT`, its expressions.
    pub texts: Vec<String>,
    /// Why it may do more than that.
    pub unknown: Option<String>,
}

/// Reads a body; an error says what is not understood, and where.
pub(super) fn read(source: &str) -> Result<Found, String> {
    let tokens = Lexer::new(source.as_bytes()).filter(|token| token.kind != Kind::Comment).collect();
    let mut reader =
        Reader { source, tokens, at: 0, open: Vec::new(), cursors: BTreeSet::new(), found: Found::default() };
    reader.body()?;
    Ok(reader.found)
}

/// What END closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Block,
    /// A block, behind its EXCEPTION.
    Exceptions,
    If,
    Case,
    Loop,
}

struct Reader<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    at: usize,
    open: Vec<Open>,
    /// Cursors whose query stands in the body.
    cursors: BTreeSet<String>,
    found: Found,
}

type Read = Result<(), String>;

/// Words that begin a query in FOR, where anything else is a cursor.
const QUERIES: [&str; 11] =
    ["select", "values", "with", "table", "insert", "update", "delete", "merge", "show", "explain", "call"];

impl Reader<'_> {
    fn body(&mut self) -> Read {
        // #variable_conflict use_column
        while self.text(self.at) == "#" {
            self.at += 3;
        }
        loop {
            let first = self.open.is_empty();
            if first && !self.is(self.at, "declare") && !self.is(self.at, "begin") && self.text(self.at) != "<<" {
                return Err(self.lost("no block begins"));
            }
            self.statement()?;
            if self.open.is_empty() && self.is(self.at.saturating_sub(1), "end") {
                break;
            }
        }
        // END label;
        self.at += usize::from(matches!(self.kind(self.at), Some(Kind::Word | Kind::Quoted)));
        self.at += usize::from(self.kind(self.at) == Some(Kind::Semicolon));
        if self.at < self.tokens.len() { Err(self.lost("the body should end")) } else { Ok(()) }
    }

    fn statement(&mut self) -> Read {
        if self.text(self.at) == "<<" {
            self.at += 3;
            return if self.text(self.at - 1) == ">>" { Ok(()) } else { Err(self.lost("a label should end")) };
        }
        if let Some(operator) = self.assignment() {
            return self.assign(operator);
        }
        let word = match self.kind(self.at) {
            Some(Kind::Word) => self.word(self.at),
            Some(Kind::Open) => "(".to_owned(),
            _ => return Err(self.lost("no statement begins")),
        };
        let top = self.open.last().copied();
        match word.as_str() {
            "declare" => self.declarations(),
            "begin" => self.enter(Open::Block),
            "exception" if top == Some(Open::Block) => {
                self.open.pop();
                self.enter(Open::Exceptions)
            }
            "when" if top == Some(Open::Case) => self.condition("then"),
            "when" if top == Some(Open::Exceptions) => {
                self.at = self.find("then")? + 1;
                Ok(())
            }
            "elsif" | "elseif" if top == Some(Open::If) => self.condition("then"),
            "else" if matches!(top, Some(Open::If | Open::Case)) => {
                self.at += 1;
                Ok(())
            }
            "end" => self.end(),
            "if" => {
                self.open.push(Open::If);
                self.condition("then")
            }
            "case" => self.case(),
            "loop" => self.enter(Open::Loop),
            "while" => {
                self.open.push(Open::Loop);
                self.condition("loop")
            }
            "for" => self.for_loop(),
            "foreach" => self.for_each(),
            _ => self.simple(&word),
        }
    }

    fn enter(&mut self, open: Open) -> Read {
        self.open.push(open);
        self.at += 1;
        Ok(())
    }

    /// The expression between a keyword and the next one.
    fn condition(&mut self, until: &str) -> Read {
        let end = self.find(until)?;
        self.expression(self.at + 1, end)?;
        self.at = end + 1;
        Ok(())
    }

    fn case(&mut self) -> Read {
        self.open.push(Open::Case);
        let when = self.find("when")?;
        if when > self.at + 1 {
            self.expression(self.at + 1, when)?;
        }
        self.at = when;
        Ok(())
    }

    fn end(&mut self) -> Read {
        let what = self.word(self.at + 1);
        let (closes, length) = match what.as_str() {
            "if" => (Open::If, 2),
            "case" => (Open::Case, 2),
            "loop" => (Open::Loop, 2),
            _ => (Open::Block, 1),
        };
        let open = self.open.pop();
        if open != Some(closes) && (open, closes) != (Some(Open::Exceptions), Open::Block) {
            return Err(self.lost("something else should end"));
        }
        self.at += length;
        if self.open.is_empty() {
            return Ok(());
        }
        self.at += usize::from(matches!(self.kind(self.at), Some(Kind::Word | Kind::Quoted)));
        if self.kind(self.at) != Some(Kind::Semicolon) {
            return Err(self.lost("a statement does not end"));
        }
        self.at += 1;
        Ok(())
    }

    fn declarations(&mut self) -> Read {
        self.at += 1;
        while !self.is(self.at, "begin") {
            if self.is(self.at, "declare") {
                self.at += 1;
                continue;
            }
            if !matches!(self.kind(self.at), Some(Kind::Word | Kind::Quoted)) {
                return Err(self.lost("no declaration begins"));
            }
            let end = self.semicolon()?;
            let mut at = self.at + 1;
            at += usize::from(self.is(at, "no"));
            at += usize::from(self.is(at, "scroll"));
            if self.is(at, "cursor") {
                let query = self.outside(at, end).find(|&at| self.is(at, "for") || self.is(at, "is"));
                let query = query.ok_or_else(|| self.lost("a cursor has no query"))?;
                self.cursors.insert(self.name(self.at));
                self.query(query + 1, end)?;
            } else if !self.is(at, "alias") {
                let is_default = |&at: &usize| self.is(at, "default") || self.assigns(at);
                let default = self.outside(at, end).find(is_default);
                if let Some(default) = default {
                    self.expression(default + 1, end)?;
                }
            }
            self.at = end + 1;
        }
        Ok(())
    }

    /// The operator of an assignment that begins here.
    fn assignment(&self) -> Option<usize> {
        if !matches!(self.kind(self.at)?, Kind::Word | Kind::Quoted | Kind::Param) {
            return None;
        }
        let mut at = self.at + 1;
        loop {
            match self.kind(at)? {
                Kind::Dot => at += 2,
                Kind::OpenBracket => at = self.closing(at)? + 1,
                _ => return self.assigns(at).then_some(at),
            }
        }
    }

    fn assign(&mut self, operator: usize) -> Read {
        let end = self.semicolon()?;
        // The index of an array's element is an expression.
        if (self.at..operator).any(|at| self.kind(at) == Some(Kind::OpenBracket)) {
            self.expression(self.at, operator)?;
        }
        self.expression(operator + 1, end)?;
        self.at = end + 1;
        Ok(())
    }

    fn for_loop(&mut self) -> Read {
        self.open.push(Open::Loop);
        let (within, end) = (self.find("in")?, self.find("loop")?);
        let from = within + 1 + usize::from(self.is(within + 1, "reverse"));
        let dots = self.outside(from, end).find(|&at| self.is_range(at));
        if self.is(from, "execute") {
            self.dynamic();
        } else if let Some(dots) = dots {
            self.range(from, dots, end)?;
        } else if self.is_cursor(from, end) {
            self.known_cursor(self.name(from));
            self.arguments(from + 1, end)?;
        } else {
            self.query(from, end)?;
        }
        self.at = end + 1;
        Ok(())
    }

    /// `..`, which the lexer takes for a dot and the beginning of whatever follows.
    fn is_range(&self, at: usize) -> bool {
        let end = self.tokens.get(at).map_or(0, |token| token.end);
        self.kind(at) == Some(Kind::Dot) && self.source.as_bytes().get(end) == Some(&b'.')
    }

    /// `lower .. upper BY step`
    fn range(&mut self, from: usize, dots: usize, end: usize) -> Read {
        self.expression(from, dots)?;
        let by = self.outside(dots, end).find(|&at| self.is(at, "by"));
        let upper = self.tokens.get(dots).map_or(0, |token| token.end + 1);
        let upper_end = self.tokens.get(by.unwrap_or(end).saturating_sub(1)).map_or(0, |token| token.end);
        let upper = self.source.get(upper..upper_end).filter(|upper| !upper.trim().is_empty());
        let upper = upper.ok_or_else(|| self.lost("a range has no end"))?;
        self.found.texts.push(format!("SELECT {upper}"));
        by.map_or(Ok(()), |by| self.expression(by + 1, end))
    }

    /// A name, perhaps with arguments, and nothing else.
    fn is_cursor(&self, from: usize, end: usize) -> bool {
        let is_name = match self.kind(from) {
            Some(Kind::Word) => !QUERIES.contains(&self.word(from).as_str()),
            kind => kind == Some(Kind::Quoted),
        };
        let arguments = || self.kind(from + 1) == Some(Kind::Open) && self.closing(from + 1) == Some(end - 1);
        is_name && (end == from + 1 || arguments())
    }

    fn for_each(&mut self) -> Read {
        self.open.push(Open::Loop);
        let (within, end) = (self.find("in")?, self.find("loop")?);
        if !self.is(within + 1, "array") {
            return Err(self.lost("FOREACH has no array"));
        }
        self.expression(within + 2, end)?;
        self.at = end + 1;
        Ok(())
    }
}
