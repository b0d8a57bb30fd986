//! Where the statements of a text begin and end.
//!
//! A semicolon ends a statement, except inside the body of a stored program or of a compound statement, where it ends
//! one of the body's own. The blocks are counted as the server's grammar nests them: BEGIN, CASE, IF, LOOP, REPEAT,
//! WHILE and FOR open one, END closes it.

use std::ops::Range;

use super::Mode;
use super::lexer::{Kind, Lexer};

/// The statements of a text, in order, without their semicolons and the white space and comments around them. Pieces
/// that hold no token are left out.
pub fn split<'a>(sql: &'a str, mode: &Mode) -> Vec<&'a str> {
    let tokens = Lexer::marking_executed(sql.as_bytes(), *mode).filter(|token| token.kind != Kind::Comment);
    let items: Vec<Item> = tokens.map(|token| Item { kind: token.kind, start: token.start, end: token.end }).collect();
    let pieces = ranges(sql.as_bytes(), items.iter().copied()).into_iter();
    let piece = |range: Range<usize>| {
        let items = items.get(range)?;
        sql.get(items.first()?.start..items.last()?.end)
    };
    pieces.filter_map(piece).collect()
}

/// A token, as far as splitting needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// The statements as ranges of token numbers, without their semicolons; empty ones included.
pub(super) fn ranges(text: &[u8], items: impl Iterator<Item = Item>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut blocks = Blocks::default();
    let mut start = 0;
    let mut count = 0;
    for (number, item) in items.enumerate() {
        count = number + 1;
        let word = text.get(item.start..item.end).unwrap_or_default();
        if blocks.ends_at(item.kind, word) {
            pieces.push(start..number);
            start = count;
        }
    }
    pieces.push(start..count);
    pieces
}

/// What of a statement was read so far.
#[derive(Default)]
struct Blocks {
    /// The blocks that are open; true for a CASE that is an expression.
    open: Vec<bool>,
    tokens: u32,
    parentheses: u32,
    /// True for CREATE or ALTER until it is known what of.
    defines: bool,
    /// True for a statement that may hold blocks.
    program: bool,
    /// True where a statement of a body may begin.
    starts: bool,
    previous: Previous,
}

/// The word that came last.
#[derive(Clone, Copy, Default, PartialEq)]
enum Previous {
    #[default]
    Other,
    /// BEGIN at the start of the text.
    Begin,
    End,
    Xa,
}

/// Words that open a block where a statement may begin, and that stand after the END of that block.
const BLOCKS: [&str; 6] = ["case", "if", "loop", "repeat", "while", "for"];
/// What CREATE and ALTER make: with a body, and without.
const PROGRAMS: [&str; 5] = ["procedure", "function", "trigger", "event", "package"];
const OTHERS: [&str; 10] =
    ["table", "view", "index", "sequence", "database", "schema", "user", "role", "server", "tablespace"];
/// The last words of a program's head, after which its body begins.
const HEAD_ENDS: [&str; 7] = ["sql", "deterministic", "data", "invoker", "definer", "row", "do"];

impl Blocks {
    /// Takes the next token; true when it is the semicolon that ends the statement.
    fn ends_at(&mut self, kind: Kind, word: &[u8]) -> bool {
        match kind {
            Kind::Enter | Kind::Leave => return false,
            Kind::Semicolon if self.open.is_empty() => {
                *self = Blocks::default();
                return true;
            }
            Kind::Open => self.parentheses += 1,
            Kind::Close => self.parentheses = self.parentheses.saturating_sub(1),
            _ => {}
        }
        let head = self.open.is_empty() && self.parentheses == 0;
        let starts = std::mem::replace(
            &mut self.starts,
            match kind {
                Kind::Semicolon => true,
                Kind::Close | Kind::Text => head,
                // After a label.
                Kind::Operator => word == b":",
                _ => false,
            },
        );
        let previous = std::mem::take(&mut self.previous);
        self.tokens += 1;
        if kind == Kind::Word {
            let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
            if self.program {
                self.body(is, starts, previous);
            } else {
                self.first_words(is, previous);
            }
        } else if self.tokens == 2 && word == b":" {
            self.program = true;
        }
        false
    }

    /// Finds out whether the statement may hold blocks.
    fn first_words(&mut self, is: impl Fn(&str) -> bool, previous: Previous) {
        if self.tokens == 1 {
            self.defines = is("create") || is("alter");
            if is("begin") {
                self.previous = Previous::Begin;
            } else if BLOCKS.iter().any(|word| is(word)) {
                self.program = true;
                self.body(is, true, previous);
            }
        } else if self.defines {
            self.program = PROGRAMS.iter().any(|word| is(word));
            self.defines = !self.program && !OTHERS.iter().any(|word| is(word));
        } else if previous == Previous::Begin && is("not") {
            // BEGIN NOT ATOMIC; BEGIN alone begins a transaction.
            self.program = true;
            self.open.push(false);
        }
    }

    /// Takes a word of a statement that may hold blocks.
    fn body(&mut self, is: impl Fn(&str) -> bool, starts: bool, previous: Previous) {
        let head = self.open.is_empty() && self.parentheses == 0;
        if previous == Previous::End && BLOCKS.iter().any(|word| is(word)) {
            return;
        }
        if is("end") && previous != Previous::Xa {
            self.open.pop();
            self.previous = Previous::End;
        } else if is("begin") && previous != Previous::Xa {
            self.open.push(false);
            self.starts = true;
        } else if is("case") {
            self.open.push(!starts);
        } else if starts && BLOCKS.iter().any(|word| is(word)) {
            self.open.push(false);
            self.starts = is("loop") || is("repeat");
        } else if is("then") || is("else") {
            self.starts = self.open.last() == Some(&false);
        } else if is("do") || is("atomic") {
            self.starts = true;
        } else if is("xa") {
            self.previous = Previous::Xa;
        } else {
            self.starts = head && HEAD_ENDS.iter().any(|word| is(word));
        }
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
