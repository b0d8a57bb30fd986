//! Data that a client sends in COPY FROM STDIN and LOAD DATA LOCAL: each field by itself, in the format that the statement
//! names.

use super::key::Key;

/// How data are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Fields and lines with something between them.
    Delimited(Delimited),
    /// PostgreSQL's binary format.
    Binary,
}

/// Fields and lines as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Delimited {
    /// Between fields.
    pub field: Vec<u8>,
    /// After a line.
    pub line: Vec<u8>,
    /// Around a field.
    pub quote: Option<u8>,
    /// Takes the next byte with it.
    pub escape: Option<u8>,
    /// What NULL looks like, without quotes.
    pub null: Vec<u8>,
}

impl Delimited {
    /// PostgreSQL's text format.
    pub fn text() -> Self {
        Delimited { field: b"\t".into(), line: b"\n".into(), quote: None, escape: Some(b'\\'), null: b"\\N".into() }
    }

    /// PostgreSQL's CSV format.
    pub fn csv() -> Self {
        Delimited { field: b",".into(), quote: Some(b'"'), escape: None, null: Vec::new(), ..Self::text() }
    }
}

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

impl Key {
    /// The data of one COPY, in as many messages as before: a record goes into the message in which it ended.
    pub(super) fn copy(&self, messages: &mut [Box<[u8]>], format: &Format) {
        let data = messages.concat();
        let mut ends = messages
            .iter()
            .scan(0, |end, message| {
                *end += message.len();
                Some(*end)
            })
            .collect::<Vec<usize>>()
            .into_iter()
            .peekable();
        let mut new: Vec<Vec<u8>> = messages.iter().map(|_| Vec::new()).collect();
        let mut at = 0;
        self.records(&data, format, &mut |end, record| {
            while ends.peek().is_some_and(|&message| message < end) && at + 1 < new.len() {
                ends.next();
                at += 1;
            }
            if let Some(message) = new.get_mut(at) {
                message.extend(record);
            }
        });
        for (message, new) in messages.iter_mut().zip(new) {
            *message = new.into();
        }
    }

    /// Gives each record with where it ended in the data.
    fn records(&self, data: &[u8], format: &Format, out: &mut dyn FnMut(usize, Vec<u8>)) {
        match format {
            Format::Binary => self.binary_records(data, out),
            Format::Delimited(layout) => {
                let mut rest = data;
                while !rest.is_empty() {
                    let mut record = Vec::new();
                    rest = self.line(rest, layout, &mut record);
                    out(data.len() - rest.len(), record);
                }
            }
        }
    }

    /// One line; returns what follows it.
    fn line<'a>(&self, mut rest: &'a [u8], layout: &Delimited, out: &mut Vec<u8>) -> &'a [u8] {
        loop {
            let (field, after) = layout.field_of(rest);
            let raw = rest.get(..rest.len() - after.len()).unwrap_or_default();
            if !field.quoted && (raw == layout.null || raw == b"\\." || layout.escape.is_some() && raw == b"\\N") {
                out.extend_from_slice(raw);
            } else {
                layout.write(&self.text(&field.content), field.quoted, out);
            }
            // One of these follows, or the end.
            if let Some(next) = after.strip_prefix(layout.line.as_slice()).filter(|_| !layout.line.is_empty()) {
                out.extend_from_slice(&layout.line);
                return next;
            }
            match after.strip_prefix(layout.field.as_slice()).filter(|_| !layout.field.is_empty()) {
                Some(next) => {
                    out.extend_from_slice(&layout.field);
                    rest = next;
                }
                None => return &[],
            }
        }
    }

    /// Tuples: a count of fields, and each with its length. Their types are not known.
    fn binary_records(&self, data: &[u8], out: &mut dyn FnMut(usize, Vec<u8>)) {
        let mut at = 0;
        if data.starts_with(SIGNATURE) {
            let extension = data.get(15..19).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes);
            at = data.len().min(19 + extension as usize);
            out(at, [SIGNATURE, data.get(11..15).unwrap_or_default(), &[0; 4]].concat());
        }
        while let Some(count) = data.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map(i16::from_be_bytes) {
            let mut record = count.to_be_bytes().to_vec();
            at += 2;
            for _ in 0..count.max(0) {
                let Some(length) = data.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_be_bytes)
                else {
                    break;
                };
                at += 4;
                record.extend(length.to_be_bytes());
                let end = data.len().min(at + length.max(0) as usize);
                record.extend(self.binary(0, data.get(at..end).unwrap_or_default()));
                at = end;
            }
            out(at, record);
        }
        if at < data.len() {
            out(data.len(), self.bytes(data.get(at..).unwrap_or_default()));
        }
    }
}

/// A field's content, quotes and escapes undone.
struct Field {
    content: Vec<u8>,
    quoted: bool,
}

impl Delimited {
    /// The field at the beginning, and what follows it: a separator or nothing.
    fn field_of<'a>(&self, data: &'a [u8]) -> (Field, &'a [u8]) {
        let mut field = Field { content: Vec::new(), quoted: false };
        let mut rest = data;
        let mut inside = false;
        if let (Some(quote), Some((first, after))) = (self.quote, rest.split_first())
            && *first == quote
        {
            (field.quoted, inside, rest) = (true, true, after);
        }
        while let Some((&byte, after)) = rest.split_first() {
            let separated = |separator: &[u8]| !separator.is_empty() && rest.starts_with(separator);
            if !inside && (separated(&self.field) || separated(&self.line)) {
                break;
            }
            rest = after;
            if Some(byte) == self.quote && inside {
                match rest.split_first() {
                    Some((again, after)) if *again == byte => {
                        field.content.push(byte);
                        rest = after;
                    }
                    _ => inside = false,
                }
            } else if Some(byte) == self.escape
                && (inside || self.quote != self.escape)
                && let Some((&next, after)) = rest.split_first()
            {
                rest = after;
                field.content.push(match next {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'b' => 8,
                    b'0' => 0,
                    other => other,
                });
            } else {
                field.content.push(byte);
            }
        }
        (field, rest)
    }

    fn write(&self, content: &[u8], quoted: bool, out: &mut Vec<u8>) {
        let quote = self.quote.filter(|_| quoted);
        out.extend(quote);
        for &byte in content {
            let special =
                Some(byte) == self.escape || [&self.field, &self.line].iter().any(|mark| mark.first() == Some(&byte));
            match (quote, self.escape) {
                (Some(quote), _) if byte == quote => out.extend([quote, quote]),
                (_, Some(escape)) if special || byte == 0 => {
                    let letter = match byte {
                        b'\n' => b'n',
                        b'\t' => b't',
                        b'\r' => b'r',
                        0 => b'0',
                        other => other,
                    };
                    out.extend([escape, letter]);
                }
                _ => out.push(byte),
            }
        }
        out.extend(quote);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(format: &Format, messages: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut data: Vec<Box<[u8]>> = messages.iter().map(|message| (*message).into()).collect();
        Key::from_bytes([9; 16]).copy(&mut data, format);
        data.into_iter().map(Vec::from).collect()
    }

    fn text(text: &str) -> String {
        String::from_utf8(Key::from_bytes([9; 16]).text(text.as_bytes())).expect("UTF-8")
    }

    #[test]
    fn fields_are_values_and_lines_stay_in_their_messages() {
        let format = Format::Delimited(Delimited::text());
        let new = copied(&format, &[b"4711\tali", b"ce\n\\N\ta\\tb\\\\c\n", b"\\.\n"]);
        assert_eq!(
            String::from_utf8_lossy(&new.concat()),
            format!(
                "{}\t{}\n\\N\t{}\n\\.\n",
                text("4711"),
                text("alice"),
                text("a\tb\\c").replace('\\', "\\\\").replace('\t', "\\t")
            )
        );
        assert_eq!(new[0], b"", "the line ended in the second message");
        assert_eq!(new[2], b"\\.\n");
    }

    #[test]
    fn csv_keeps_its_quotes() {
        let format = Format::Delimited(Delimited::csv());
        let new = String::from_utf8(copied(&format, &[b"4711,\"al,i\"\"ce\n\",,x\r\n"]).concat()).expect("UTF-8");
        let quoted = text("al,i\"ce\n").replace('"', "\"\"");
        assert_eq!(new, format!("{},\"{quoted}\",,{}\r\n", text("4711"), text("x")));
        let semicolon = Format::Delimited(Delimited { field: b";".into(), ..Delimited::csv() });
        let new = String::from_utf8(copied(&semicolon, &[b"alice;bob"]).concat()).expect("UTF-8");
        assert_eq!(new, format!("{};{}", text("alice"), text("bob")));
    }

    #[test]
    fn load_data_may_have_separators_of_several_bytes() {
        let format = Format::Delimited(Delimited {
            field: b"||".into(),
            line: b"##\n".into(),
            quote: Some(b'\''),
            escape: Some(b'\\'),
            null: Vec::new(),
        });
        let new = String::from_utf8(copied(&format, &[b"'al\\'ice'||\\N||4711##\n"]).concat()).expect("UTF-8");
        assert_eq!(new, format!("'{}'||\\N||{}##\n", text("al'ice").replace('\'', "''"), text("4711")));
    }

    #[test]
    fn binary_tuples_keep_their_lengths() {
        let mut data = SIGNATURE.to_vec();
        data.extend([0; 8]);
        data.extend(2_i16.to_be_bytes());
        data.extend(4_i32.to_be_bytes());
        data.extend(4711_i32.to_be_bytes());
        data.extend((-1_i32).to_be_bytes());
        data.extend((-1_i16).to_be_bytes());
        let new = copied(&Format::Binary, &[&data]).concat();
        assert_eq!(new.len(), data.len());
        assert_eq!(i32::from_be_bytes(new[25..29].try_into().expect("4 bytes")).to_string(), text("4711"));
        assert_eq!(new[29..], data[29..]);
        for cut in 0..data.len() {
            assert_eq!(copied(&Format::Binary, &[&data[..cut]]).concat().len().max(19), cut.max(19), "{cut}");
        }
    }
}
