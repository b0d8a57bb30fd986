//! Charts as inline SVG, drawn here so that the report needs no script and no network.
//!
//! Every chart has a title for screen readers and stands beside a table with the same numbers.

use std::fmt::Write;

/// One horizontal bar per row and run.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Name of the row.
    pub label: String,
    /// The baseline's value.
    pub baseline: Option<f64>,
    /// The candidate's value.
    pub candidate: Option<f64>,
}

const LABEL: f64 = 300.0;
const WIDTH: f64 = 860.0;
const VALUE: f64 = 90.0;
const BAR: f64 = 11.0;
/// Characters of a label: in a font of 12 px hardly one is wider than 8 px on average, and a fit is asked for beyond that.
const CHARS: usize = 40;
/// Labels longer than this many characters may be wider than their column, and are fitted into it.
const FITTED: usize = 34;
const ROW: f64 = 34.0;

/// Paired bars, baseline above candidate, on one linear scale from 0.
pub fn paired_bars(title: &str, unit: &str, bars: &[Bar]) -> String {
    let largest = bars.iter().flat_map(|bar| [bar.baseline, bar.candidate]).flatten().fold(0.0, f64::max);
    let scale = if largest > 0.0 { (WIDTH - LABEL - VALUE) / largest } else { 0.0 };
    let height = ROW * bars.len() as f64 + 6.0;
    let mut svg = String::new();
    // Writing into a String cannot fail.
    let _ = write!(
        svg,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" class=\"chart\"><title>{}</title>",
        escape(title)
    );
    for (row, bar) in bars.iter().enumerate() {
        let top = ROW * row as f64 + 4.0;
        let label = super::shorten(&bar.label, CHARS);
        let fit = match label.chars().count() > FITTED {
            true => format!(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", LABEL - 16.0),
            false => String::new(),
        };
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\"{fit}>{}</text>",
            LABEL - 8.0,
            top + 16.0,
            escape(&label)
        );
        for (class, value, y) in [("b", bar.baseline, top), ("c", bar.candidate, top + BAR + 2.0)] {
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{LABEL}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\"/>\
                 <text class=\"v\" x=\"{:.1}\" y=\"{}\">{} {unit}</text>",
                (value * scale).max(0.5),
                LABEL + value * scale + 5.0,
                y + 9.5,
                number(value)
            );
        }
    }
    svg.push_str("</svg>");
    svg
}

/// Two or three significant digits, as far as a chart is read.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_share_one_scale_and_labels_are_escaped() {
        let bars = [
            Bar { label: "a < b".into(), baseline: Some(1.0), candidate: Some(2.0) },
            Bar { label: "c".into(), baseline: None, candidate: Some(f64::NAN) },
        ];
        let svg = paired_bars("t", "ms", &bars);
        assert!(svg.contains("a &lt; b") && !svg.contains("textLength"));
        // A label that could be wider than its column is fitted into it, and nothing of it is cut off at the left.
        let wide = Bar { label: "W".repeat(60), baseline: Some(1.0), candidate: None };
        assert!(paired_bars("t", "ms", &[wide]).contains("text-anchor=\"end\" textLength=\"284\""));
        assert!(svg.contains("width=\"235.0\"") && svg.contains("width=\"470.0\""), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 2, "what is not known has no bar");
    }
}
