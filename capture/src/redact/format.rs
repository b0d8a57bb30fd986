//! How a statement says that the data which follow it are laid out.

use super::copy::{Delimited, Format};
use super::token::Form;
use crate::sql::Dialect;
use crate::sql::literals::{Kind, Piece, pieces};
use crate::trace::Engine;

impl Format {
    /// What an engine expects unless it is told otherwise.
    pub(super) fn unknown(engine: Engine) -> Self {
        match engine {
            Engine::Postgresql => Format::Delimited(Delimited::text()),
            Engine::Mysql => Format::Delimited(Delimited { null: Vec::new(), ..Delimited::text() }),
        }
    }
}

/// The formats of the statements of a text that data follow, in order.
pub(super) fn formats(text: &[u8], dialect: Dialect) -> Vec<Format> {
    let pieces: Vec<Piece> = pieces(text, dialect).into_iter().filter(|piece| piece.kind != Kind::Comment).collect();
    let statements = pieces.split(|piece| piece.kind == Kind::Semicolon);
    let formats = statements.filter_map(|pieces| {
        let statement = Statement { text, pieces, dialect };
        match dialect {
            Dialect::Postgresql => statement.copy(),
            Dialect::Mysql(_) => statement.load(),
        }
    });
    formats.collect()
}

struct Statement<'a> {
    text: &'a [u8],
    pieces: &'a [Piece],
    dialect: Dialect,
}

impl Statement<'_> {
    fn word(&self, at: usize) -> Vec<u8> {
        let piece = self.pieces.get(at);
        piece.and_then(|piece| self.text.get(piece.start..piece.end)).unwrap_or_default().to_ascii_lowercase()
    }

    fn position(&self, word: &[u8]) -> Option<usize> {
        (0..self.pieces.len()).find(|&at| self.word(at) == word)
    }

    /// The content of a string or a single byte; `None` for anything else.
    fn string(&self, at: usize) -> Option<Vec<u8>> {
        let piece = self.pieces.get(at).filter(|piece| piece.kind == Kind::Text)?;
        let token = self.text.get(piece.start..piece.end)?;
        Form::of(token, self.dialect, None).content(token)
    }

    /// The string after an option of COPY.
    fn option(&self, name: &[u8]) -> Option<Vec<u8>> {
        let at = self.position(name)?;
        self.string(at + 1).or_else(|| self.string(at + 2).filter(|_| self.word(at + 1) == b"as"))
    }

    fn copy(&self) -> Option<Format> {
        if self.word(0) != b"copy" || self.position(b"stdin").is_none() {
            return None;
        }
        let format = self.position(b"format").map(|at| self.string(at + 1).unwrap_or_else(|| self.word(at + 1)));
        let is = |name: &[u8]| match &format {
            Some(format) => format.eq_ignore_ascii_case(name),
            None => self.position(name).is_some(),
        };
        if is(b"binary") {
            return Some(Format::Binary);
        }
        let mut layout = if is(b"csv") { Delimited::csv() } else { Delimited::text() };
        if let Some(delimiter) = self.option(b"delimiter").or_else(|| self.option(b"delimiters")) {
            layout.field = delimiter;
        }
        if let Some(null) = self.option(b"null") {
            layout.null = null;
        }
        if layout.quote.is_some() {
            layout.quote = self.option(b"quote").and_then(|quote| quote.first().copied()).or(layout.quote);
            layout.escape = self
                .option(b"escape")
                .and_then(|escape| escape.first().copied())
                .filter(|escape| Some(*escape) != layout.quote);
        }
        Some(Format::Delimited(layout))
    }

    fn load(&self) -> Option<Format> {
        if self.word(0) != b"load" {
            return None;
        }
        let mut layout = Delimited { null: Vec::new(), ..Delimited::text() };
        let mut lines = false;
        for at in 0..self.pieces.len() {
            let by = if self.word(at + 1) == b"by" { self.string(at + 2) } else { None };
            match (self.word(at).as_slice(), by) {
                (b"fields" | b"columns", _) => lines = false,
                (b"lines", _) => lines = true,
                (b"terminated", Some(mark)) if lines => layout.line = mark,
                (b"terminated", Some(mark)) => layout.field = mark,
                (b"enclosed", Some(mark)) => layout.quote = mark.first().copied(),
                (b"escaped", Some(mark)) => layout.escape = mark.first().copied(),
                _ => {}
            }
        }
        Some(Format::Delimited(layout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_those_of_the_statement() {
        let of = |sql: &str| formats(sql.as_bytes(), Dialect::Postgresql);
        let csv = Delimited::csv();
        for (sql, format) in [
            ("COPY t FROM STDIN", Format::Delimited(Delimited::text())),
            (
                "copy t (a, b) from stdin (format csv, delimiter ';', null 'NULL')",
                Format::Delimited(Delimited { field: b";".into(), null: b"NULL".into(), ..csv.clone() }),
            ),
            (
                "COPY t FROM STDIN WITH CSV QUOTE AS '|' ESCAPE E'\\\\'",
                Format::Delimited(Delimited { quote: Some(b'|'), escape: Some(b'\\'), ..csv.clone() }),
            ),
            ("COPY t FROM STDIN WITH BINARY", Format::Binary),
            ("COPY t FROM STDIN (FORMAT 'binary')", Format::Binary),
        ] {
            assert_eq!(of(sql), [format], "{sql}");
        }
        assert_eq!(of("SELECT 1; COPY t TO STDOUT; COPY t FROM STDIN; COPY u FROM STDIN CSV").len(), 2);
        let sql = "LOAD DATA LOCAL INFILE 'x' INTO TABLE t FIELDS TERMINATED BY '||' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' LINES TERMINATED BY '\\r\\n' IGNORE 1 LINES";
        let load =
            Delimited { field: b"||".into(), line: b"\r\n".into(), quote: Some(b'"'), escape: None, null: Vec::new() };
        assert_eq!(formats(sql.as_bytes(), Dialect::of(Engine::Mysql)), [Format::Delimited(load)]);
    }
}
