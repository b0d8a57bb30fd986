//! The statements of a stored program's body.
//!
//! The blocks are followed as the server's grammar nests them ("Compound Statement Syntax" of the manuals), and what stands
//! between their keywords is read like any other statement or expression. Nothing is passed over: what no rule takes
//! makes the body one that is not understood.

mod head;

use std::collections::BTreeSet;

use super::super::Mode;
use super::super::lexer::Kind;
use super::tokens::{Cursor, Source};
use super::{dml, statement};
use crate::sql::{Body, Effect, Scope, Statement, StatementKind};

/// The body of a stored function, procedure or trigger, given as the statement that makes it (`SHOW CREATE FUNCTION`), in
/// the `sql_mode` that it was made with. Bodies of the mode ORACLE have another syntax and are not understood.
///
/// `information_schema` shows a body whose texts have lost their escapes, so that it does not tell where they end.
///
/// Never fails: what cannot be read is a body that is not known.
pub fn body(sql: &str, mode: &Mode) -> Body {
    let source = match Source::new(sql, *mode) {
        Ok(source) => source,
        Err(error) => return Body::unknown(error),
    };
    let end = source.toks.len();
    let cursor = Cursor { source: &source, at: 0, end };
    let (open, body) = (Vec::new(), Body::default());
    let mut reader = Reader { cursor, open, variables: BTreeSet::new(), cursors: BTreeSet::new(), body };
    if let Err(error) = reader.run() {
        reader.body.unknown.get_or_insert(error);
    }
    reader.body
}

/// What END closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Block,
    If,
    Case,
    Loop,
    Repeat,
    While,
    For,
}

struct Reader<'s, 'a> {
    /// The rest of the body.
    cursor: Cursor<'s, 'a>,
    open: Vec<Open>,
    /// Variables of the program's own, in lower case.
    variables: BTreeSet<String>,
    /// Cursors whose query stands in the body, in lower case.
    cursors: BTreeSet<String>,
    body: Body,
}

type Read = Result<(), String>;

impl<'s, 'a> Reader<'s, 'a> {
    fn run(&mut self) -> Read {
        self.cursor = head::skip(self.cursor)?;
        if self.cursor.done() {
            return Err("it is empty".to_owned());
        }
        while !self.cursor.done() {
            self.statement()?;
        }
        if self.open.is_empty() { Ok(()) } else { Err(self.lost("a block does not end")) }
    }

    fn statement(&mut self) -> Read {
        let (source, at) = (self.cursor.source, self.cursor.at);
        if matches!(source.kind(at), Some(Kind::Word | Kind::Quoted)) && source.text(at + 1) == ":" {
            self.cursor.at += 2;
            return Ok(());
        }
        let word = match source.kind(at) {
            Some(Kind::Word) => source.text(at).to_ascii_lowercase(),
            _ => String::new(),
        };
        let top = self.open.last().copied();
        self.cursor.at += 1;
        match word.as_str() {
            "begin" => {
                self.cursor.eat_all(&["not", "atomic"]);
                self.open.push(Open::Block);
            }
            "if" => self.enter(Open::If, "then")?,
            "elseif" if top == Some(Open::If) => self.until("then")?,
            "else" if matches!(top, Some(Open::If | Open::Case)) => {}
            "case" => {
                self.open.push(Open::Case);
                let when = self.find("when")?;
                if when > self.cursor.at {
                    self.expression(when)?;
                }
                self.cursor.at = when;
            }
            "when" if top == Some(Open::Case) => self.until("then")?,
            "loop" => self.open.push(Open::Loop),
            "repeat" => self.open.push(Open::Repeat),
            "until" if top == Some(Open::Repeat) => {
                let end = self.find("end")?;
                self.expression(end)?;
                self.cursor.at = end;
            }
            "while" => self.enter(Open::While, "do")?,
            "for" => self.for_loop()?,
            "end" => return self.end(),
            "declare" => return self.declare(),
            _ => {
                self.cursor.at = at;
                return self.simple(&word);
            }
        }
        Ok(())
    }

    /// A statement that ends with a semicolon.
    fn simple(&mut self, word: &str) -> Read {
        let start = self.cursor;
        let end = self.semicolon();
        let rest = Cursor { at: start.at + 1, end, ..start };
        match word {
            "return" => {
                self.cursor.at += 1;
                self.expression(end)?;
            }
            "leave" | "iterate" => {}
            "open" => self.opened(rest)?,
            "fetch" => {
                let into = rest.find(|at| start.source.is(at, "into"));
                self.known_cursor(into.saturating_sub(1));
            }
            "close" => {}
            "prepare" | "execute" | "deallocate" => self.unknown("it runs a text that it puts together (PREPARE)"),
            _ => {
                let mut found = statement::read(Cursor { end, ..start }, 0)?;
                if word == "set" {
                    self.forget_variables(&mut found);
                }
                self.body.statements.push(found);
            }
        }
        self.cursor.at = end + 1;
        Ok(())
    }

    /// Assignments to variables of the program's own, and to the columns of a trigger's new row, leave nothing behind.
    fn forget_variables(&self, statement: &mut Statement) {
        statement.state.assignments.retain(|assignment| {
            let name = assignment.name.split('.').next().unwrap_or_default();
            let is_own = self.variables.contains(name) || (name == "new" && assignment.name.contains('.'));
            assignment.scope != Scope::Session || !is_own
        });
    }

    /// `OPEN cursor`, `OPEN cursor (arguments)`
    fn opened(&mut self, rest: Cursor<'s, 'a>) -> Read {
        let arguments = Cursor { at: rest.at + 1, ..rest };
        self.known_cursor(rest.at);
        if arguments.done() {
            return Ok(());
        }
        if arguments.kind() != Some(Kind::Open) {
            return Err(self.lost("a cursor is opened in an unknown way"));
        }
        self.evaluate(arguments)
    }

    /// What is read through a cursor is told by its query.
    fn known_cursor(&mut self, at: usize) {
        let name = self.cursor.source.name(at).unwrap_or_default().to_lowercase();
        if !self.cursors.contains(&name) {
            self.unknown("it reads a cursor whose query stands elsewhere");
        }
    }

    fn enter(&mut self, open: Open, until: &str) -> Read {
        self.open.push(open);
        self.until(until)
    }

    /// The expression up to a keyword.
    fn until(&mut self, word: &str) -> Read {
        let end = self.find(word)?;
        self.expression(end)?;
        self.cursor.at = end + 1;
        Ok(())
    }

    /// `FOR i IN 1 .. 10 DO`, `FOR row IN (SELECT ...) DO`, `FOR row IN cursor (arguments) DO`
    fn for_loop(&mut self) -> Read {
        self.open.push(Open::For);
        let variable = self.cursor.name()?;
        self.variables.insert(variable.to_lowercase());
        if !self.cursor.eat("in") {
            return Err(self.lost("FOR without IN"));
        }
        self.cursor.eat("reverse");
        let (source, end) = (self.cursor.source, self.find("do")?);
        let mut range = Cursor { end, ..self.cursor };
        let mut behind = Cursor { at: range.at + 1, ..range };
        if source.name(range.at).is_some() && (behind.done() || behind.skip_parenthesis() && behind.done()) {
            self.known_cursor(range.at);
            range.at += 1;
        }
        if !range.done() {
            self.evaluate(range)?;
        }
        self.cursor.at = end + 1;
        Ok(())
    }

    fn end(&mut self) -> Read {
        const WORDS: [(&str, Open); 6] = [
            ("if", Open::If),
            ("case", Open::Case),
            ("loop", Open::Loop),
            ("repeat", Open::Repeat),
            ("while", Open::While),
            ("for", Open::For),
        ];
        let closes = WORDS.iter().find(|(word, _)| self.cursor.eat(word)).map_or(Open::Block, |(_, open)| *open);
        if self.open.pop() != Some(closes) {
            return Err(self.lost("something else should end"));
        }
        if self.cursor.kind() != Some(Kind::Semicolon) && !self.cursor.done() {
            self.cursor.name()?;
        }
        if self.cursor.done() || self.cursor.kind() == Some(Kind::Semicolon) {
            self.cursor.at += 1;
            return Ok(());
        }
        Err(self.lost("a statement does not end"))
    }

    fn declare(&mut self) -> Read {
        if self.cursor.eat_any(&["continue", "exit", "undo"]) && self.cursor.eat_all(&["handler", "for"]) {
            return self.handler();
        }
        let source = self.cursor.source;
        let end = self.semicolon();
        let name = self.cursor.name()?.to_lowercase();
        let inside = Cursor { end, ..self.cursor };
        if inside.is("cursor") {
            let query = inside.find(|at| source.is(at, "for")) + 1;
            let found = statement::read(Cursor { at: query, ..inside }, 0)?;
            self.body.statements.push(found);
            self.cursors.insert(name);
        } else if !inside.is("condition") {
            self.variables.insert(name);
            let mut names = inside;
            while names.eat_symbol(",") {
                self.variables.insert(names.name()?.to_lowercase());
            }
            let default = inside.find(|at| source.is(at, "default"));
            if default < end {
                self.evaluate(inside.from(default + 1))?;
            }
        }
        self.cursor.at = end + 1;
        Ok(())
    }

    /// The conditions of a handler; its statement follows.
    fn handler(&mut self) -> Read {
        loop {
            if self.cursor.eat("sqlstate") {
                self.cursor.eat("value");
            } else {
                self.cursor.eat("not");
            }
            // A condition's name, NOT FOUND, a number, or the text of an SQLSTATE.
            if !matches!(self.cursor.kind(), Some(Kind::Word | Kind::Quoted | Kind::Number | Kind::Text)) {
                return Err(self.lost("a handler has no condition"));
            }
            self.cursor.at += 1;
            if !self.cursor.eat_symbol(",") {
                return Ok(());
            }
        }
    }

    fn unknown(&mut self, why: &str) {
        self.body.unknown.get_or_insert_with(|| why.to_owned());
    }

    /// The expression from here to `end`.
    fn expression(&mut self, end: usize) -> Read {
        self.evaluate(Cursor { end, ..self.cursor })
    }

    fn evaluate(&mut self, cursor: Cursor<'_, '_>) -> Read {
        if cursor.done() {
            return Err(self.lost("something is missing"));
        }
        let found = dml::evaluate(cursor)?;
        // A constant, or a variable of the program's own.
        if found != Statement::new(StatementKind::Evaluate, Effect::Read) {
            self.body.statements.push(found);
        }
        Ok(())
    }

    /// The semicolon that ends the statement, or the end.
    fn semicolon(&self) -> usize {
        self.cursor.find(|at| self.cursor.source.kind(at) == Some(Kind::Semicolon))
    }

    /// The next keyword of this statement, outside of parentheses and of CASE ... END.
    fn find(&self, word: &str) -> Result<usize, String> {
        let source = self.cursor.source;
        let (mut at, mut cases, end) = (self.cursor.at, 0_u32, self.semicolon());
        while at < end {
            if cases == 0 && source.is(at, word) {
                return Ok(at);
            }
            cases += u32::from(source.is(at, "case"));
            cases = cases.saturating_sub(u32::from(source.is(at, "end")));
            at = match source.toks.get(at) {
                Some(tok) if tok.kind == Kind::Open => tok.close + 1,
                _ => at + 1,
            };
        }
        Err(self.lost(&format!("{} is missing", word.to_uppercase())))
    }

    /// What is not understood, and where.
    fn lost(&self, what: &str) -> String {
        format!("{what}, {}", self.cursor.here())
    }
}
