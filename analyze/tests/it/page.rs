//! The HTML report in a real browser: it opens, says what the command says, asks for nothing, and can be read and operated.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::command::{RUN, analyze};
use crate::scenario::scenario;

/// A browser and the report of a candidate with findings in every section; `None` where there is no Chromium.
fn report(dir: &Path) -> Option<Browser> {
    let Some(browser) = Browser::start() else {
        assert!(std::env::var_os("CI").is_none(), "no Chromium");
        std::io::stderr().write_all(b"skipped: 1 (no Chromium)\n").unwrap();
        return None;
    };
    let long = format!("SELECT {} FROM stock", vec!["a_column_with_a_long_name"; 20].join(", "));
    let run = RUN.replace("SELECT 1 ->", &format!("{long} /*route='%2Fshow',method='GET'*/ ->"));
    let stale = "@35 S replay=200 time=12
1 40..42 UPDATE stock SET n = 2 /*route='%2Fbuy',method='GET'*/ -> P1 | affected=1
1 50..52 SELECT n FROM stock -> S1 | sum=2 rows=1
1 52..54 SELECT n FROM stock WHERE id = 1 -> P1 | sum=2 rows=1
1 55..56 SELECT random() -> P1 | sum=3 rows=1
1 57..58 SELECT nobody(1) -> P1 | sum=3 rows=1
P9 58..59 SELECT pg_is_in_recovery()
@60 P lsn=900
@60 S replay=200 time=12";
    let run = format!("{run}\n{stale}");
    scenario(&run).write(&dir.join("today"));
    let worse = run.replace("UPDATE stock SET n = 1 -> P1 | affected=1", "UPDATE stock SET n = 1 -> S1 | error=25006");
    scenario(&worse.replace("sum=3", "sum=4")).write(&dir.join("candidate"));
    let fixture =
        "version: 1\nengine: postgresql\ncases:\n- {id: a, why: b, session: [{sql: SELECT 2, safe: replica}]}\n";
    std::fs::write(dir.join("fixture.yaml"), fixture).unwrap();
    let arguments = ["compare", "today", "candidate", "--fixture", "fixture.yaml", "--html", "report.html"];
    let output = analyze(dir, &arguments);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    Some(browser)
}

fn show(browser: &mut Browser, page: &Path, width: u32, scheme: &str) {
    let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
    browser.call("Emulation.setDeviceMetricsOverride", size);
    let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
    browser.call("Emulation.setEmulatedMedia", features);
    browser.open(page);
}

const LOOKS: [(u32, &str); 4] = [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")];

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_report_opens_in_a_browser_without_errors_or_requests() {
    let dir = tempfile::tempdir().unwrap();
    let Some(mut browser) = report(dir.path()) else { return };
    // What the test looks for is found where it is.
    let bad = dir.path().join("bad.html");
    let script = "<script>console.error('seen')</script><img src='http://report.invalid/x.png'>";
    std::fs::write(&bad, format!("<!doctype html><body>{script}")).unwrap();
    browser.open(&bad);
    assert!(browser.console().iter().any(|line| line.contains("seen")), "{:?}", browser.console());
    assert!(browser.requests().iter().any(|url| url.contains("report.invalid")), "{:?}", browser.requests());

    for (width, scheme) in LOOKS {
        show(&mut browser, &dir.path().join("report.html"), width, scheme);
        assert_eq!(browser.console(), [""; 0], "{width} {scheme}");
        assert_eq!(browser.requests(), [""; 0], "{width} {scheme}");
    }
}

#[test]
fn the_report_answers_in_order_ship_or_not_why_which_shapes_and_what_is_not_known() {
    let dir = tempfile::tempdir().unwrap();
    let Some(mut browser) = report(dir.path()) else { return };
    show(&mut browser, &dir.path().join("report.html"), 1280, "light");
    let page = texts(&browser.evaluate("[document.body.innerText]")).remove(0);
    // Each behind the one before.
    let mut rest = page.as_str();
    for part in [
        "Verdict: don't ship",
        "write_leakage is 1, and must be at most 0",
        "Why, and which shapes",
        "update stock set n = ?",
        "What is not known",
        "1 requests call nobody, whose volatility is not known",
    ] {
        let (_, behind) = rest.split_once(part).unwrap_or_else(|| panic!("{part} is not where it should be:\n{page}"));
        rest = behind;
    }
    let last = texts(&browser.evaluate("[...document.querySelectorAll('h2')].map(h => h.id)"));
    assert_eq!((last.first().unwrap().as_str(), last.last().unwrap().as_str()), ("why", "unknown"));
}

#[test]
fn every_section_is_reached_by_keyboard() {
    let dir = tempfile::tempdir().unwrap();
    let Some(mut browser) = report(dir.path()) else { return };
    for (width, scheme) in LOOKS {
        show(&mut browser, &dir.path().join("report.html"), width, scheme);
        let name = "(e => e.getAttribute('href') ?? e.getAttribute('aria-label') ?? e.innerText)";
        let wanted = format!("[...document.querySelectorAll('a, summary, [tabindex=\"0\"]')].map({name})");
        let wanted: BTreeSet<String> = texts(&browser.evaluate(&wanted)).into_iter().collect();
        let sections = texts(&browser.evaluate("[...document.querySelectorAll('h2')].map(h => '#' + h.id)"));
        assert!(sections.len() > 5 && sections.iter().all(|section| wanted.contains(section)), "{wanted:?}");
        let mut reached = BTreeSet::new();
        for _ in 0..wanted.len() * 3 + 20 {
            browser.press("Tab", 9, "");
            let focus = format!(
                "document.activeElement === document.body ? [] : [{name}(document.activeElement), \
                 getComputedStyle(document.activeElement).outlineStyle]"
            );
            let focus = texts(&browser.evaluate(&focus));
            let Some(element) = focus.first() else { continue };
            assert_ne!(focus[1], "none", "{element} does not show that it has the focus");
            reached.insert(element.clone());
        }
        assert_eq!(reached, wanted, "{width} {scheme}");
        // Enter on a link goes to its section.
        browser.evaluate("document.querySelector('nav a:last-child').focus()");
        browser.press("Enter", 13, "\r");
        assert_eq!(browser.evaluate("location.hash"), "#unknown");
    }
}

#[test]
fn the_report_is_readable_wide_and_narrow_light_and_dark() {
    let dir = tempfile::tempdir().unwrap();
    let Some(mut browser) = report(dir.path()) else { return };
    for (width, scheme) in LOOKS {
        show(&mut browser, &dir.path().join("report.html"), width, scheme);
        let own = browser.evaluate("getComputedStyle(document.body).backgroundColor");
        assert_eq!(own == "rgb(255, 255, 255)", scheme == "light", "{own}");
        // Nothing sticks out of the page; wide tables and charts scroll on their own.
        let overflow = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert!(overflow.as_i64().unwrap() <= 0, "{width}: {overflow} pixels too wide");
        browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)");
        let overflow = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert!(overflow.as_i64().unwrap() <= 0, "{width}, details open: {overflow} pixels too wide");
        let poor = texts(&browser.evaluate(CONTRAST));
        assert_eq!(poor, [""; 0], "{width} {scheme}");
    }
}

/// Texts whose contrast with what is behind them is below 4.5 (WCAG 2.2, 1.4.3), or which are smaller than 10 pixels.
const CONTRAST: &str = r"(() => {
  const parts = colour => colour.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = parts(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const element = node.parentElement;
    if (!node.textContent.trim() || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const ink = parts(element instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [luminance(ink), luminance(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5 || parseFloat(style.fontSize) < 10)
      poor.push(`${node.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}, ${style.fontSize}`);
  }
  return [...new Set(poor)];
})()";
