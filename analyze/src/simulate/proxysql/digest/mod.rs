//! ProxySQL's digest of a text: the text without literals and comments, which `match_digest` looks at.
//!
//! Four passes, as ProxySQL 2.4 and later do them. Its oddities are part of it, because rules match against them: the sign between
//! `a - b` goes, `--` before a line end takes the next line with it, a literal within `/*! ... */` stays. The result for each input of
//! ProxySQL's own test payloads is the same (`docs/models.md` says which differ).

/// What of `mysql-query_digests_*` changes the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestOptions {
    /// `mysql-query_digests_lowercase`
    pub lowercase: bool,
    /// `mysql-query_digests_replace_null`
    pub replace_null: bool,
    /// `mysql-query_digests_no_digits`
    pub no_digits: bool,
    /// `mysql-query_digests_keep_comment`
    pub keep_comment: bool,
    /// `mysql-query_digests_grouping_limit`
    pub grouping_limit: usize,
    /// `mysql-query_digests_groups_grouping_limit`
    pub groups_grouping_limit: usize,
    /// `mysql-query_digests_max_query_length`
    pub max_length: usize,
}

impl Default for DigestOptions {
    fn default() -> Self {
        DigestOptions {
            lowercase: false,
            replace_null: true,
            no_digits: false,
            keep_comment: false,
            grouping_limit: 3,
            groups_grouping_limit: 10,
            max_length: 65_000,
        }
    }
}

/// Makes digests one after another in the same buffers.
#[derive(Debug, Default)]
pub struct Digester {
    options: DigestOptions,
    text: Vec<u8>,
    spare: Vec<u8>,
    comment: Vec<u8>,
    has_comment: bool,
}

/// ProxySQL keeps no more of a comment.
const COMMENT: usize = 1_023;

impl Digester {
    /// With these settings.
    pub fn new(options: DigestOptions) -> Self {
        Digester { options, ..Digester::default() }
    }

    /// The digest of a text, and the first of its `/* */` comments.
    pub fn digest(&mut self, sql: &[u8]) -> (&[u8], Option<&[u8]>) {
        self.literals(sql);
        self.spaces();
        if self.options.grouping_limit > 0 {
            self.groups();
            if self.options.groups_grouping_limit > 0 {
                self.groups_of_groups();
            }
        }
        self.text.truncate(self.options.max_length);
        while self.text.len() > 1 && matches!(self.text.last(), Some(b' ' | b';')) {
            self.text.pop();
        }
        (&self.text, self.has_comment.then_some(&self.comment))
    }

    /// The first pass: literals become `?`, comments go, white space becomes single.
    fn literals(&mut self, sql: &[u8]) {
        self.text.clear();
        self.comment.clear();
        self.has_comment = false;
        let mut at = 0;
        let mut previous = 0_u8;
        while let Some(&c) = sql.get(at) {
            let next = |ahead: usize| sql.get(at + ahead).copied().unwrap_or(0);
            // Two more characters must follow what begins a comment.
            let room = at + 2 < sql.len();
            if c == b'/' && next(1) == b'*' && room {
                at = self.comment(sql, at, previous);
                previous = b' ';
            } else if c == b'#' {
                at = line_end(sql, at + usize::from(at + 2 <= sql.len()));
                previous = b' ';
            } else if c == b'-' && next(1) == b'-' && room && is_space(next(2)) && (previous != b'-' || at == 0) {
                at = dashes_end(sql, at);
                previous = b' ';
            } else if matches!(c, b'\'' | b'"') {
                match string_end(sql, at) {
                    Some(end) => {
                        self.text.push(b'?');
                        (at, previous) = (end, 0);
                    }
                    None => return,
                }
            } else if c.is_ascii_digit() && !is_normal(previous) {
                (at, previous) = self.number(sql, at);
            } else if matches!(c, b'n' | b'N') && self.options.replace_null && !is_normal(previous) && is_null(sql, at)
            {
                self.text.push(b'?');
                (at, previous) = (at + 4, b'?');
            } else if is_space(c) {
                if !self.text.is_empty() && (self.text.last() != Some(&b' ') || !is_space(previous)) {
                    self.text.push(b' ');
                }
                (at, previous) = (at + 1, c);
            } else {
                self.text.push(if self.options.lowercase { c.to_ascii_lowercase() } else { c });
                (at, previous) = (at + 1, c);
            }
        }
    }

    /// Passes over `/* */` at a place; what `/*! */` holds stays. Gives the place behind it.
    fn comment(&mut self, sql: &[u8], start: usize, before: u8) -> usize {
        let executed = sql.get(start + 2) == Some(&b'!');
        let begin = start + 2 + usize::from(executed);
        // Nothing is left to look at.
        if begin + 1 >= sql.len() {
            return begin;
        }
        let first = !self.has_comment;
        let mut previous = before;
        let mut end = begin;
        while let Some(&c) = sql.get(end) {
            end += 1;
            if previous == b'*' && c == b'/' {
                let inner = sql.get(begin..end.saturating_sub(2)).unwrap_or_default();
                self.ended(inner, executed, first);
                return end;
            }
            previous = c;
        }
        // It never ends: ProxySQL keeps what it has of the first one, and nothing of the text.
        end
    }

    fn ended(&mut self, inner: &[u8], executed: bool, first: bool) {
        if first {
            self.has_comment = true;
            let kept = inner.iter().take(COMMENT).map(|&c| if is_space(c) { b' ' } else { c });
            self.comment.extend(kept);
        }
        let kept = match self.options.keep_comment {
            true => {
                let code = inner.iter().any(|c| !matches!(c, b'/' | b'*' | b' ' | b'0'..=b'9'));
                self.spare.clear();
                if code {
                    self.spare.extend_from_slice(b"/*");
                    self.spare.extend(inner.iter().take(COMMENT));
                    self.spare.extend_from_slice(b"*/");
                }
                Some(self.spare.as_slice())
            }
            false if executed => {
                let inner = inner.get(..inner.len().min(COMMENT)).unwrap_or_default();
                let code = inner.iter().position(|c| !matches!(c, b'/' | b'*' | b'!' | b' ' | b'0'..=b'9'));
                code.and_then(|code| inner.get(code..))
            }
            false => None,
        };
        if let Some(kept) = kept.filter(|kept| !kept.is_empty()) {
            self.text.extend_from_slice(kept);
        }
        if !self.text.is_empty() && self.text.last() != Some(&b' ') {
            self.text.push(b' ');
        }
    }

    /// A number, or a name that begins with digits. Gives the place behind it and the last character.
    fn number(&mut self, sql: &[u8], start: usize) -> (usize, u8) {
        let mut at = start;
        let mut previous = 0_u8;
        let from = self.text.len();
        while let Some(&c) = sql.get(at) {
            let last = at + 1 == sql.len();
            let float = c == b'.' || previous.eq_ignore_ascii_case(&b'e') && matches!(c, b'-' | b'+');
            let ends = !is_normal(c) && !float;
            if at > start && ends || last {
                let digits = self.text.get(from..).unwrap_or_default();
                let is_number = if at == start { c.is_ascii_digit() } else { is_digits(digits) };
                if is_number {
                    self.text.truncate(from);
                    self.text.push(b'?');
                    // The last character of the text belongs to the number, whatever it is.
                    return if is_normal(c) && last { (at + 1, b'?') } else { (at, b'?') };
                }
                if ends {
                    return (at, previous);
                }
            }
            self.text.push(if self.options.lowercase { c.to_ascii_lowercase() } else { c });
            previous = c;
            at += 1;
        }
        (at, previous)
    }

    /// The second pass: spaces beside parentheses, commas and operators, and the signs of values.
    fn spaces(&mut self) {
        let text = std::mem::take(&mut self.text);
        let out = &mut self.spare;
        out.clear();
        let get = |at: usize, back: usize| at.checked_sub(back).and_then(|at| text.get(at)).copied().unwrap_or(b'0');
        for (at, &c) in text.iter().enumerate() {
            let (before, after) = (get(at, 1), text.get(at + 1).copied().unwrap_or(0));
            let keep = match c {
                b' ' if before == b'(' || after == b')' => false,
                b' ' if is_operator(before) && after == b'?' || before == b',' || after == b',' => {
                    self.options.keep_comment && get(at, 2) == b'*' && before == b'/'
                }
                b' ' => !(is_operator(after) && before == b'?'),
                b'+' | b'-' => {
                    let value = |c: u8| matches!(c, b'?' | b' ');
                    let open = |c: u8| !is_normal(c) && c != b'?' && c != b')';
                    match before {
                        b' ' if is_normal(get(at, 2)) => false,
                        b' ' => !(open(get(at, 2)) && value(after)),
                        _ => !(open(before) && value(after)),
                    }
                }
                b'0'..=b'9' if self.options.no_digits => {
                    if out.last().is_some_and(|&last| last != b'?') {
                        out.push(b'?');
                    }
                    false
                }
                _ => true,
            };
            if keep {
                out.push(c);
            }
        }
        self.text = std::mem::replace(&mut self.spare, text);
    }

    /// The third pass: `(?,?,?,?,?)` becomes `(?,?,?,...)`.
    fn groups(&mut self) {
        if memchr(&self.text, b"?,?,").is_none() {
            return;
        }
        let text = std::mem::take(&mut self.text);
        let (out, limit) = (&mut self.spare, self.options.grouping_limit);
        out.clear();
        let get = |at: usize| text.get(at).copied().unwrap_or(0);
        let end = text.len().saturating_sub(1);
        let (mut at, mut inside) = (0, false);
        while at <= end && at < text.len() {
            if inside && out.len() > 4 && out.ends_with(b",...") && end > at {
                let mut on = at + usize::from(get(at) == b',');
                let mut last = false;
                while on < end {
                    match (get(on), get(on + 1)) {
                        (b'?', b',') => on += 2,
                        (b'?', b')') => {
                            (on, last) = (on + 1, true);
                            break;
                        }
                        _ => break,
                    }
                }
                if on > at + 1 || last {
                    at = on;
                }
            }
            let c = get(at);
            let fits = at + limit * 2 < end;
            let begins =
                get(at) == b'?' && get(at + 1) == b',' && get(at + 2) == b'?' && matches!(get(at + 3), b',' | b')');
            let signed = at.checked_sub(1).is_some_and(|before| is_operator(get(before)));
            if !(inside && fits && begins && !signed) {
                out.push(c);
                at += 1;
                inside = c == b'(' || inside && c != b')';
                continue;
            }
            let (mut on, mut count, mut closed) = (at, 0, false);
            while on < end {
                if get(on) == b'?' && get(on + 1) == b',' {
                    (on, count) = (on + 2, count + 1);
                } else {
                    closed = get(on + 1) == b')';
                    break;
                }
            }
            let length = count * 2 + usize::from(closed);
            if length >= limit * 2 + 3 {
                for _ in 0..count.min(limit) {
                    out.extend_from_slice(b"?,");
                }
                if count > limit {
                    out.extend_from_slice(b"...");
                }
                at = if closed { on + 1 } else { on - 1 };
            } else {
                for _ in 0..count {
                    out.extend_from_slice(b"?,");
                }
                at = on;
            }
        }
        self.text = std::mem::replace(&mut self.spare, text);
    }

    /// The fourth pass: many `(?,?,?,...)` in a row become a few and `...`.
    fn groups_of_groups(&mut self) {
        let group = 1 + self.options.grouping_limit * 2 + 3 + 1;
        let limit = self.options.groups_grouping_limit;
        if self.text.len() < (group + 1) * (limit + 1) {
            return;
        }
        let mut pattern = Vec::with_capacity(group);
        pattern.push(b'(');
        for _ in 0..self.options.grouping_limit {
            pattern.extend_from_slice(b"?,");
        }
        pattern.extend_from_slice(b"...)");
        let text = std::mem::take(&mut self.text);
        let out = &mut self.spare;
        out.clear();
        let mut at = 0;
        while at < text.len() {
            let (mut on, mut count) = (at, 0);
            while text.get(on..).is_some_and(|rest| rest.starts_with(&pattern)) {
                count += 1;
                on += group;
                on += usize::from(text.get(on) == Some(&b','));
            }
            if count > limit {
                out.extend_from_slice(text.get(at..at + (group + 1) * limit).unwrap_or_default());
                out.extend_from_slice(b"...");
                at = on;
            } else if let Some(&c) = text.get(at) {
                out.push(c);
                at += 1;
            }
        }
        self.text = std::mem::replace(&mut self.spare, text);
    }
}

fn memchr(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_normal(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'$' | b'_')
}

fn is_operator(c: u8) -> bool {
    matches!(c, b'+' | b'-' | b'*' | b'/' | b'%')
}

/// Behind the end of a line that is looked for from a place on.
fn line_end(sql: &[u8], from: usize) -> usize {
    let rest = sql.get(from..).unwrap_or_default();
    rest.iter().position(|c| matches!(c, b'\n' | b'\r')).map_or(sql.len(), |end| from + end + 1)
}

/// Behind the line of a `-- ` comment. Every `-- ` in it is passed over as a whole, with its space, which may be the line end.
fn dashes_end(sql: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(&c) = sql.get(at) {
        let dashes = sql.get(at..at + 3).is_some_and(|part| part.starts_with(b"--") && is_space(part[2]));
        if dashes && at + 4 <= sql.len() {
            at += 3;
            continue;
        }
        at += 1;
        if matches!(c, b'\n' | b'\r') {
            return at;
        }
    }
    at
}

/// Behind a string; `None` where it never ends.
fn string_end(sql: &[u8], start: usize) -> Option<usize> {
    let quote = *sql.get(start)?;
    let mut previous = quote;
    let mut at = start + 1;
    while let Some(&c) = sql.get(at) {
        let escaped = previous == b'\\' && (c == b'\\' || c == quote) || previous == quote && c == quote;
        if at > start + 1 && escaped {
            previous = b'X';
        } else if c == quote && sql.get(at + 1) != Some(&quote) {
            return Some(at + 1);
        } else {
            previous = c;
        }
        at += 1;
    }
    None
}

fn is_null(sql: &[u8], at: usize) -> bool {
    let word = sql.get(at..at + 4).is_some_and(|word| word.eq_ignore_ascii_case(b"null"));
    word && sql.get(at + 4).is_none_or(|&c| !is_normal(c))
}

/// Decimal, hexadecimal and with an exponent.
fn is_digits(text: &[u8]) -> bool {
    let mut hexadecimal = false;
    let mut previous = 0_u8;
    for (at, &c) in text.iter().enumerate() {
        let float = c == b'.'
            || c.eq_ignore_ascii_case(&b'e')
            || previous.eq_ignore_ascii_case(&b'e') && matches!(c, b'+' | b'-');
        if at == 1 && previous == b'0' && matches!(c, b'x' | b'X') {
            hexadecimal = true;
        } else if hexadecimal && !c.is_ascii_hexdigit() || !hexadecimal && !c.is_ascii_digit() && !float {
            return false;
        }
        previous = c;
    }
    true
}

#[cfg(test)]
mod tests;
