//! Lists of values in a normalised text, of which equal neighbours become one.

/// A list whose equal neighbours collapse.
#[derive(Debug)]
pub(super) struct List {
    /// Nesting depth at which its commas stand.
    pub depth: u32,
    /// True for rows after `values`, which no bracket of their own encloses.
    pub rows: bool,
    /// Where the current element begins in the output.
    pub start: usize,
    /// The last element that was kept, and whether `...` follows it.
    pub kept: Option<(usize, usize, bool)>,
}

impl List {
    /// A list whose first element begins at `start`.
    pub fn new(depth: u32, rows: bool, start: usize) -> Self {
        List { depth, rows, start, kept: None }
    }

    /// Ends an element: drops it when it equals the one before.
    pub fn end_element(mut self, out: &mut Vec<u8>) -> List {
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
        self
    }
}
