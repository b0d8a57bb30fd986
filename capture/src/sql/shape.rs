//! A statement without its literals, and the digest that names it.
//!
//! One rule decides what goes: a shape separates what routing separates. So a value in `SET x = on` stays, and a
//! value in `WHERE id = 1` goes. The text is stable: the same statement gives the same shape id in every version
//! with the same trace format.
//!
//! - Literals and parameters become `?`, with their sign; so do `null`, `true` and `false` where a value stands.
//! - White space collapses to the same spacing everywhere, except before `(`, where one space or none stays.
//! - Unquoted identifiers and keywords become lower case.
//! - `in (1, 2, 3)` becomes `in (?...)`, `array[1, 2]` becomes `array[?...]`, and equal rows of `values` become one
//!   row followed by `...`.
//! - Comments go, with two exceptions: a comment at the start leaves `/**/`, because routers treat such a statement
//!   differently, and a comment that orders a route keeps the order (`/*NO LOAD BALANCE*/`).
//! - Literals stay in `SET`, `RESET`, `BEGIN`, `START TRANSACTION`, in `set_config()` and in the options of
//!   `EXPLAIN (...)`. Exceptions, because their values are endless and no router reads them: longer than 64 bytes,
//!   a snapshot's name, and the value of a setting with a dot in its name (`app.user`), unless it looks like a
//!   boolean or the name belongs to a router (`pgdog.role`).

use xxhash_rust::xxh3::xxh3_64;

use super::hint;
use super::lexer::{Kind, Lexer, Token};
use super::list::Lists;

/// The normalised text of a statement.
pub fn normalize(sql: &str) -> String {
    Normalizer::default().run(sql).to_owned()
}

/// The shape id of a statement: xxh3-64 (seed 0) of its normalised text.
pub fn shape_id(sql: &str) -> u64 {
    Normalizer::default().id(sql)
}

/// Normalises texts one after another in the same buffer.
#[derive(Debug, Default)]
pub struct Normalizer {
    out: Vec<u8>,
    lists: Lists,
    /// Where in the text the literals begin that stay.
    kept: Vec<usize>,
}

impl Normalizer {
    /// The normalised text of a statement.
    pub fn run(&mut self, sql: &str) -> &str {
        self.fill(sql.as_bytes());
        // Only ASCII is changed and cut, so what was UTF-8 still is.
        std::str::from_utf8(&self.out).unwrap_or_default()
    }

    /// The shape id of a statement.
    pub fn id(&mut self, sql: &str) -> u64 {
        self.fill(sql.as_bytes());
        xxh3_64(&self.out)
    }

    /// The normalised bytes of a statement, and where in it the literals begin that stay in them.
    pub(super) fn keeping(&mut self, text: &[u8]) -> (&[u8], &[usize]) {
        self.fill(text);
        (&self.out, &self.kept)
    }

    fn fill(&mut self, text: &[u8]) {
        self.out.clear();
        self.lists.clear();
        self.kept.clear();
        let mut pass = Pass::new(text, self);
        let mut lexer = Lexer::new(text);
        while let Some(token) = lexer.next() {
            pass.token(token, &lexer);
        }
        pass.finish();
    }
}

/// Which literals of the current statement stay.
#[derive(Clone, Copy, PartialEq)]
enum Keep {
    Nothing,
    /// A statement that sets session or transaction state.
    Setting,
    /// The same, for a setting with a dot in its name that belongs to no router.
    Custom,
    /// After EXPLAIN, before its options.
    Explain,
    /// Inside the parentheses of EXPLAIN.
    Options,
}

/// The word that came last, as far as the next token depends on it.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Plain,
    In,
    Values,
    Array,
    SetConfig,
    Explain,
    Snapshot,
}

/// A call of set_config whose arguments are being read.
struct SetConfig {
    depth: u32,
    argument: u32,
    custom: bool,
}

struct Pass<'a> {
    text: &'a [u8],
    out: &'a mut Vec<u8>,
    lists: &'a mut Lists,
    kept: &'a mut Vec<usize>,
    previous: Option<Kind>,
    last: Last,
    /// Where the last word stands in the output.
    word: usize,
    depth: u32,
    /// True until the first word of a statement.
    first: bool,
    keep: Keep,
    /// True once a SET has come to its value.
    value: bool,
    config: Option<SetConfig>,
    /// Where the sign of the next number stands in the text.
    sign: Option<usize>,
}

impl<'a> Pass<'a> {
    fn new(text: &'a [u8], buffers: &'a mut Normalizer) -> Self {
        Pass {
            text,
            out: &mut buffers.out,
            lists: &mut buffers.lists,
            kept: &mut buffers.kept,
            previous: None,
            last: Last::Plain,
            word: 0,
            depth: 0,
            first: true,
            keep: Keep::Nothing,
            value: false,
            config: None,
            sign: None,
        }
    }

    #[inline]
    fn token(&mut self, token: Token, lexer: &Lexer<'_>) {
        let text = self.text.get(token.start..token.end).unwrap_or_default();
        self.end_rows(token.kind);
        match token.kind {
            Kind::Word => self.word(text, token),
            Kind::Text | Kind::Number | Kind::Param => {
                let start = self.sign.take().unwrap_or(token.start);
                let text = self.text.get(start..token.end).unwrap_or_default();
                self.space(Kind::Number, token.spaced);
                self.literal(text, token.start);
                self.previous = Some(Kind::Number);
            }
            Kind::Comment => self.comment(text),
            Kind::Operator if self.is_sign(text, lexer) => self.sign = Some(token.start),
            Kind::Open | Kind::OpenBracket => self.open(token),
            Kind::Close | Kind::CloseBracket => self.close(token.kind, text),
            Kind::Comma => self.comma(),
            Kind::Semicolon => {
                self.push(token, text);
                if self.depth == 0 {
                    self.first = true;
                    self.keep = Keep::Nothing;
                    self.value = false;
                }
            }
            Kind::Dot => {
                if self.keep == Keep::Setting && !self.value && !router_setting(self.out.get(self.word..)) {
                    self.keep = Keep::Custom;
                }
                self.push(token, text);
            }
            Kind::Operator | Kind::Quoted | Kind::Colon => {
                self.value |= text == b"=";
                self.push(token, text);
            }
        }
    }

    fn finish(&mut self) {
        self.lists.finish(self.out);
    }

    /// Writes the space that belongs before a token of this kind.
    #[inline]
    fn space(&mut self, kind: Kind, spaced: bool) {
        let Some(previous) = self.previous else { return };
        let tight = match kind {
            Kind::Close | Kind::CloseBracket | Kind::OpenBracket | Kind::Comma | Kind::Semicolon => true,
            Kind::Dot | Kind::Colon => true,
            Kind::Open => !spaced && matches!(previous, Kind::Word | Kind::Quoted),
            _ => false,
        };
        if !tight && !matches!(previous, Kind::Open | Kind::OpenBracket | Kind::Dot | Kind::Colon) {
            self.out.push(b' ');
        }
    }

    #[inline]
    fn push(&mut self, token: Token, text: &[u8]) {
        self.space(token.kind, token.spaced);
        self.out.extend_from_slice(text);
        self.previous = Some(token.kind);
        self.last = Last::Plain;
    }

    #[inline]
    fn word(&mut self, text: &[u8], token: Token) {
        self.space(Kind::Word, token.spaced);
        let start = self.out.len();
        self.out.extend(text.iter().map(u8::to_ascii_lowercase));
        let value_place = matches!(self.previous, Some(Kind::Open | Kind::Comma | Kind::Operator));
        let word = self.out.get(start..).unwrap_or_default();
        self.last = match word {
            b"null" | b"true" | b"false" if value_place => {
                self.out.truncate(start);
                self.literal(text, token.start);
                self.previous = Some(Kind::Number);
                self.last = Last::Plain;
                return;
            }
            b"in" => Last::In,
            b"values" => Last::Values,
            b"array" => Last::Array,
            b"set_config" => Last::SetConfig,
            b"snapshot" => Last::Snapshot,
            _ => Last::Plain,
        };
        self.word = start;
        if self.first {
            self.first = false;
            (self.keep, self.last) = match word {
                b"set" | b"reset" | b"begin" | b"start" | b"show" | b"discard" => (Keep::Setting, Last::Plain),
                b"explain" => (Keep::Explain, Last::Explain),
                _ => (Keep::Nothing, self.last),
            };
        } else if self.keep == Keep::Setting && word == b"to" {
            self.value = true;
        }
        self.previous = Some(Kind::Word);
        self.lists.word(start, word);
    }

    /// A literal, with its sign; `at` is where it begins without.
    fn literal(&mut self, text: &[u8], at: usize) {
        let mut stays = match self.keep {
            Keep::Setting => self.last != Last::Snapshot,
            Keep::Custom => boolean(text),
            Keep::Options => true,
            Keep::Nothing | Keep::Explain => false,
        };
        if let Some(config) = &mut self.config
            && config.depth == self.depth
        {
            stays = match config.argument {
                0 => {
                    config.custom = text.contains(&b'.') && !router_setting(text.get(1..));
                    true
                }
                1 => !config.custom || boolean(text),
                _ => true,
            };
        }
        if stays && text.len() <= 64 && text.first() != Some(&b'$') {
            self.kept.push(at);
            self.out.extend_from_slice(text);
        } else {
            self.out.push(b'?');
        }
        self.last = Last::Plain;
    }

    fn comment(&mut self, text: &[u8]) {
        let Some(kept) = hint::kept(text, self.out.is_empty()) else { return };
        self.space(Kind::Comment, true);
        for part in [b"/*".as_slice(), kept, b"*/"] {
            self.out.extend_from_slice(part);
        }
        self.previous = Some(Kind::Comment);
    }

    /// True for a minus or plus that belongs to the number after it.
    #[inline]
    fn is_sign(&self, text: &[u8], lexer: &Lexer<'_>) -> bool {
        matches!(text, b"-" | b"+")
            && lexer.number_follows()
            && match self.previous {
                None | Some(Kind::Open | Kind::OpenBracket | Kind::Comma | Kind::Operator | Kind::Comment) => true,
                Some(Kind::Word) => self.out.get(self.word..).is_some_and(expects_value),
                _ => false,
            }
    }

    fn open(&mut self, token: Token) {
        let last = self.last;
        let text = self.text.get(token.start..token.end).unwrap_or_default();
        if last == Last::Values && token.kind == Kind::Open {
            self.lists.begin_rows(self.depth, self.out.len());
        }
        self.push(token, text);
        self.depth += 1;
        match (last, token.kind) {
            (Last::In, Kind::Open) | (Last::Array, Kind::OpenBracket) => {
                self.lists.begin(self.depth, self.out.len());
            }
            (Last::SetConfig, Kind::Open) => {
                self.config = Some(SetConfig { depth: self.depth, argument: 0, custom: false });
            }
            (Last::Explain, Kind::Open) => self.keep = Keep::Options,
            _ => {}
        }
    }

    fn close(&mut self, kind: Kind, text: &[u8]) {
        self.lists.close(self.depth, self.out);
        if self.config.as_ref().is_some_and(|config| config.depth >= self.depth) {
            self.config = None;
        }
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 && self.keep == Keep::Options {
            self.keep = Keep::Nothing;
        }
        self.out.extend_from_slice(text);
        self.previous = Some(kind);
        self.last = Last::Plain;
    }

    #[inline]
    fn comma(&mut self) {
        self.lists.comma(self.depth, self.out);
        if let Some(config) = &mut self.config
            && config.depth == self.depth
        {
            config.argument += 1;
        }
        self.out.push(b',');
        self.previous = Some(Kind::Comma);
        self.last = Last::Plain;
    }

    /// Rows after VALUES end before anything but a comma or another row.
    #[inline]
    fn end_rows(&mut self, next: Kind) {
        if self.previous == Some(Kind::Close) && !matches!(next, Kind::Comma | Kind::Open | Kind::Comment) {
            self.lists.end_rows(self.depth, self.out);
        }
    }
}

/// Words after which a sign belongs to the number that follows.
fn expects_value(word: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"select",
        b"when",
        b"then",
        b"else",
        b"and",
        b"or",
        b"not",
        b"between",
        b"like",
        b"by",
        b"limit",
        b"offset",
        b"where",
        b"having",
        b"on",
        b"set",
        b"to",
        b"is",
        b"case",
        b"from",
        b"return",
        b"any",
        b"all",
        b"using",
        b"fetch",
        b"move",
        b"forward",
        b"backward",
        b"absolute",
        b"relative",
        b"distinct",
    ];
    WORDS.contains(&word)
}

/// True for the name of a setting that a router reads.
pub(crate) fn is_of_router(name: &[u8]) -> bool {
    router_setting(Some(name))
}

/// The same.
fn router_setting(name: Option<&[u8]>) -> bool {
    const NAMESPACES: &[&[u8]] = &[b"pgdog", b"pgcat", b"pgpool", b"maxscale", b"proxysql"];
    name.is_some_and(|name| NAMESPACES.iter().any(|space| name.starts_with(space)))
}

/// True for a value that PostgreSQL may read as a boolean, or that is empty.
fn boolean(text: &[u8]) -> bool {
    const VALUES: &[&str] = &["on", "off", "true", "false", "yes", "no", "t", "f", "0", "1", ""];
    let bare = match text {
        [b'\'', inner @ .., b'\''] => inner,
        _ => text,
    };
    VALUES.iter().any(|value| bare.eq_ignore_ascii_case(value.as_bytes()))
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
