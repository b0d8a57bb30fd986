//! Lists of values in a normalised text, of which equal neighbours become one.

/// The lists that are open at a place in the text.
#[derive(Debug, Default)]
pub(super) struct Lists(Vec<List>);

/// A list whose equal neighbours collapse.
#[derive(Debug)]
struct List {
    /// Nesting depth at which its commas stand.
    depth: u32,
    /// True for rows after `values`, which no bracket of their own encloses.
    rows: bool,
    /// Where the current element begins in the output.
    start: usize,
    /// The last element that was kept, and whether `...` follows it.
    kept: Option<(usize, usize, bool)>,
}

impl Lists {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A list inside of brackets begins, with its first element at `start`.
    pub fn begin(&mut self, depth: u32, start: usize) {
        self.0.push(List { depth, rows: false, start, kept: None });
    }

    /// Rows begin, the first at `start`.
    pub fn begin_rows(&mut self, depth: u32, start: usize) {
        self.0.push(List { depth, rows: true, start, kept: None });
    }

    /// True between the rows at this depth.
    pub fn among_rows(&self, depth: u32) -> bool {
        self.0.last().is_some_and(|list| list.rows && list.depth == depth && list.kept.is_some())
    }

    /// A word, which stands at `start`: where it begins the first element, this may be a subquery and no list of values.
    #[inline]
    pub fn word(&mut self, start: usize, word: &[u8]) {
        let first = |list: &List| !list.rows && list.kept.is_none() && list.start == start;
        if self.0.last().is_some_and(first) && matches!(word, b"select" | b"with" | b"values" | b"table") {
            self.0.pop();
        }
    }

    /// A comma at this depth, which is not written yet.
    #[inline]
    pub fn comma(&mut self, depth: u32, out: &mut Vec<u8>) {
        if let Some(list) = self.0.last_mut().filter(|list| list.depth == depth) {
            list.end_element(out);
            list.start = out.len() + 1;
        }
    }

    /// A bracket closes at this depth. Lists deeper than it belong to brackets that were never closed.
    pub fn close(&mut self, depth: u32, out: &mut Vec<u8>) {
        while let Some(mut list) = self.0.pop_if(|list| list.depth >= depth) {
            if list.depth == depth {
                list.end_element(out);
            }
        }
    }

    /// The rows at this depth have ended, if there are any.
    #[inline]
    pub fn end_rows(&mut self, depth: u32, out: &mut Vec<u8>) {
        if let Some(mut list) = self.0.pop_if(|list| list.rows && list.depth == depth) {
            list.end_element(out);
        }
    }

    /// The text has ended.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        while let Some(mut list) = self.0.pop() {
            if list.rows {
                list.end_element(out);
            }
        }
    }
}

impl List {
    /// Ends an element: drops it when it equals the one before.
    fn end_element(&mut self, out: &mut Vec<u8>) {
        let start = self.start + usize::from(out.get(self.start) == Some(&b' '));
        let element = out.get(start..).unwrap_or_default();
        match self.kept {
            Some((from, to, dots)) if out.get(from..to) == Some(element) => {
                out.truncate(to + if dots { 3 } else { 0 });
                if !dots {
                    out.extend_from_slice(b"...");
                }
                self.kept = Some((from, to, true));
            }
            _ => {
                // How many values an IN has is chance, so one value looks like many.
                let dots = !self.rows && element == b"?";
                self.kept = Some((start, out.len(), dots));
                if dots {
                    out.extend_from_slice(b"...");
                }
            }
        }
    }
}
