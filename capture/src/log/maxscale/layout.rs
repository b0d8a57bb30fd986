//! Which columns a file has, and how lines are split into them.
//!
//! Nothing in a line is quoted: a query can hold the separator, and so can an error message. What stands before the query is
//! split from the left, what stands behind it from the right.

/// The columns in their order, by the names of the header.
const COLUMNS: &[(&str, Column)] = &[
    ("Service", Column::Service),
    ("Session", Column::Session),
    ("Date", Column::Date),
    ("User@Host", Column::User),
    ("Reply_time", Column::ReplyTime),
    ("Query", Column::Query),
    ("Default_db", Column::Database),
    ("Total_reply_time", Column::TotalReplyTime),
    ("Num_rows", Column::Rows),
    ("Reply_size", Column::ReplySize),
    ("Transaction_time", Column::TransactionTime),
    ("Transaction", Column::Transaction),
    ("Num_warnings", Column::Warnings),
    ("Error_msg", Column::Error),
    ("Server", Column::Server),
    // Since 24.02, and the header does not name it.
    ("Command", Column::Command),
];

/// Separators that are longer are none.
const SEPARATOR: usize = 16;
/// Separators that an error message may hold.
const IN_MESSAGE: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Service,
    Session,
    Date,
    User,
    ReplyTime,
    Query,
    Database,
    TotalReplyTime,
    Rows,
    ReplySize,
    Transaction,
    TransactionTime,
    Warnings,
    Error,
    Server,
    Command,
}

/// The columns of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    columns: Vec<Column>,
    separator: Vec<u8>,
}

/// What a line tells. A column that the file does not have is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields<'a> {
    pub session: Option<&'a [u8]>,
    /// `2019-02-03 11:57:43`, local.
    pub date: Option<&'a [u8]>,
    pub user: Option<&'a [u8]>,
    pub host: Option<&'a [u8]>,
    /// Until the first of the answer came: a number of milliseconds, or of microseconds.
    pub reply_time: Option<u64>,
    /// Until the last of it came.
    pub total_reply_time: Option<u64>,
    pub query: Option<&'a [u8]>,
    /// Empty where there is none.
    pub database: Option<&'a [u8]>,
    pub rows: Option<u64>,
    pub warnings: Option<u64>,
    /// Empty where there was none.
    pub error: Option<&'a [u8]>,
    pub server: Option<&'a [u8]>,
    pub command: Option<&'a [u8]>,
}

impl Default for Layout {
    /// As without options.
    fn default() -> Self {
        Layout { columns: vec![Column::Date, Column::User, Column::Query], separator: b",".to_vec() }
    }
}

impl Layout {
    /// Reads a header. `None` where the line is none.
    pub fn read(line: &[u8]) -> Option<Self> {
        let name = |text: &[u8]| {
            COLUMNS
                .iter()
                .find(|(name, _)| text.starts_with(name.as_bytes()))
                .map(|(name, column)| (name.len(), *column))
        };
        let (length, first) = name(line)?;
        let mut columns = vec![first];
        let mut separator: Option<&[u8]> = None;
        let mut rest = line.get(length..)?;
        while !rest.is_empty() {
            let width = match separator {
                // MaxScale leaves it out behind a query that comes first.
                Some(separator) if !rest.starts_with(separator) && columns.last() == Some(&Column::Query) => 0,
                Some(separator) => rest.starts_with(separator).then_some(separator.len())?,
                None => (0..rest.len().min(SEPARATOR))
                    .find(|&width| rest.get(width..).is_some_and(|next| name(next).is_some()))?,
            };
            if width > 0 {
                separator = rest.get(..width);
            }
            rest = rest.get(width..)?;
            let (length, column) = name(rest)?;
            columns.push(column);
            rest = rest.get(length..)?;
        }
        let is_header = columns.contains(&Column::Query) || columns.contains(&Column::Date);
        let separator = separator.map_or_else(|| b",".to_vec(), <[u8]>::to_vec);
        is_header.then_some(Layout { columns, separator })
    }

    /// Whether lines tell when they begin a record: those without can be told only one by one.
    pub fn tells_begin(&self) -> bool {
        self.columns.iter().take_while(|column| **column != Column::Query).any(|column| *column == Column::Date)
    }

    /// Whether a line begins a record.
    pub fn begins(&self, line: &[u8]) -> bool {
        let left = self.columns.iter().take_while(|column| **column != Column::Query);
        let mut rest = Some(line);
        for column in left {
            let Some(text) = rest else { return false };
            let end = memchr::memmem::find(text, &self.separator).unwrap_or(text.len());
            let field = text.get(..end).unwrap_or_default();
            if !column.accepts(field) {
                return false;
            }
            rest = text.get(end + self.separator.len()..);
        }
        true
    }

    /// Splits a record. `None` where it has other columns.
    pub fn split<'a>(&self, record: &'a [u8]) -> Option<Fields<'a>> {
        let mut fields = Fields::default();
        let query = self.columns.iter().position(|column| *column == Column::Query);
        let (left, right) = self.columns.split_at_checked(query.unwrap_or(self.columns.len()))?;
        let mut rest = Some(record);
        for column in left {
            let text = rest?;
            let end = memchr::memmem::find(text, &self.separator).unwrap_or(text.len());
            fields.set(*column, text.get(..end)?)?;
            rest = text.get(end + self.separator.len()..);
        }
        let Some(right) = right.get(1..) else { return Some(fields) };
        let with_command: Vec<Column> = right.iter().copied().chain([Column::Command]).collect();
        [&with_command[..], right].into_iter().find_map(|right| self.read_from_right(rest?, right, fields))
    }

    /// Splits a query and what stands behind it. Where an error message holds separators, they are the fewest with which the other
    /// columns are what they should be.
    fn read_from_right<'a>(&self, text: &'a [u8], right: &[Column], fields: Fields<'a>) -> Option<Fields<'a>> {
        let within = if right.contains(&Column::Error) { IN_MESSAGE } else { 0 };
        (0..=within).find_map(|within| {
            let mut fields = fields;
            let mut rest = text;
            for column in right.iter().rev() {
                let skip = if *column == Column::Error { within } else { 0 };
                let mut places = memchr::memmem::rfind_iter(rest, &self.separator);
                let at = places.nth(skip)?;
                fields.set(*column, rest.get(at + self.separator.len()..)?)?;
                rest = rest.get(..at)?;
            }
            fields.query = Some(rest);
            Some(fields)
        })
    }
}

impl Column {
    /// Whether a text can stand in this column.
    fn accepts(self, text: &[u8]) -> bool {
        let number = || text.iter().all(u8::is_ascii_digit);
        match self {
            Column::Session | Column::ReplyTime => !text.is_empty() && number(),
            Column::TotalReplyTime | Column::Rows | Column::ReplySize | Column::Warnings | Column::TransactionTime => {
                number()
            }
            Column::Date => {
                let form = b"0000-00-00 00:00:00";
                let is_like =
                    |(&byte, &like): (&u8, &u8)| if like == b'0' { byte.is_ascii_digit() } else { byte == like };
                text.len() == form.len() && text.iter().zip(form).all(is_like)
            }
            Column::User => memchr::memchr(b'@', text).is_some(),
            Column::Transaction => matches!(text, b"" | b"BEGIN" | b"COMMIT" | b"ROLLBACK"),
            Column::Command => {
                text.starts_with(b"COM_") && text.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_')
            }
            Column::Service | Column::Query | Column::Database | Column::Error | Column::Server => true,
        }
    }
}

impl<'a> Fields<'a> {
    /// Sets a column. `None` where the text cannot stand there.
    fn set(&mut self, column: Column, text: &'a [u8]) -> Option<()> {
        if !column.accepts(text) {
            return None;
        }
        let number = || str::from_utf8(text).ok()?.parse().ok();
        match column {
            Column::Session => self.session = Some(text),
            Column::Date => self.date = Some(text),
            Column::User => {
                let at = memchr::memrchr(b'@', text)?;
                (self.user, self.host) = (text.get(..at), text.get(at + 1..));
            }
            Column::ReplyTime => self.reply_time = number(),
            Column::TotalReplyTime => self.total_reply_time = number(),
            Column::Rows => self.rows = number(),
            Column::Warnings => self.warnings = number(),
            Column::Database => self.database = Some(if text == b"(none)" { b"" } else { text }),
            Column::Error => self.error = Some(text),
            Column::Server => self.server = Some(text),
            Column::Command => self.command = Some(text),
            Column::Query => self.query = Some(text),
            Column::Service | Column::ReplySize | Column::Transaction | Column::TransactionTime => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(field: Option<&[u8]>) -> Option<&str> {
        field.map(|bytes| std::str::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn headers() {
        assert_eq!(Layout::read(b"Date,User@Host,Query"), Some(Layout::default()));
        let read = |line: &str| Layout::read(line.as_bytes()).map(|layout| (layout.columns.len(), layout.separator));
        assert_eq!(
            read("Session||Date||Query||Default_db||Transaction||Transaction_time||Server"),
            Some((7, b"||".to_vec()))
        );
        assert_eq!(read("QueryDefault_db,Total_reply_time"), Some((3, b",".to_vec())));
        assert_eq!(read("Query"), Some((1, b",".to_vec())));
        for line in ["", "Service", "Date,User@Host,Querying", "SELECT 1", "2019-02-03 11:57:43,a@b,Query"] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn queries_hold_separators() {
        let layout = Layout::default();
        let fields = layout.split(b"2019-02-03 11:57:43,a@b@10.0.0.1,SELECT 1, 2").expect("fields");
        assert_eq!(text(fields.query), Some("SELECT 1, 2"));
        assert_eq!((text(fields.user), text(fields.host)), (Some("a@b"), Some("10.0.0.1")));
        assert!(layout.begins(b"2019-02-03 11:57:43,a@b,"));
        assert!(!layout.begins(b"FROM t, u") && !layout.begins(b"2019-02-03,a@b,SELECT"));
        assert_eq!(layout.split(b"2019-02-03 11:57:43,nobody"), None);
        assert_eq!(layout.split(b"2019-02-03 11:57:43,a@b"), None);
    }

    #[test]
    fn columns_on_both_sides() {
        let header = b"Session,Date,User@Host,Reply_time,Query,Default_db,Total_reply_time,Num_rows,Error_msg,Server";
        let layout = Layout::read(header).expect("a header");
        let line = b"7,2024-05-01 10:00:00,a@h,3,SELECT 1, 2,shop,5,1,,db1";
        let fields = layout.split(line).expect("fields");
        assert_eq!((text(fields.query), text(fields.database)), (Some("SELECT 1, 2"), Some("shop")));
        assert_eq!((fields.reply_time, fields.total_reply_time, fields.rows), (Some(3), Some(5), Some(1)));
        assert_eq!((text(fields.error), text(fields.server), text(fields.command)), (Some(""), Some("db1"), None));
        // The column without a name, and commas in the message.
        let line = b"7,2024-05-01 10:00:00,a@h,3,SELECT x, y,(none),5,0,Unknown column 'x', sorry, no,db1,COM_QUERY";
        let fields = layout.split(line).expect("fields");
        assert_eq!((text(fields.query), text(fields.database)), (Some("SELECT x, y"), Some("")));
        assert_eq!(text(fields.error), Some("Unknown column 'x', sorry, no"));
        assert_eq!((text(fields.server), text(fields.command)), (Some("db1"), Some("COM_QUERY")));
        assert_eq!(layout.split(b"7,2024-05-01 10:00:00,a@h,3,SELECT 1"), None);
    }
}
