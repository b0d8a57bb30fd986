//! What a request says of its sender.

use splitproof_capture::sql::{self, Dialect};
use splitproof_capture::trace::Request;

/// The tags of a request, those that say it more reliably first: query attributes, then comments.
pub fn tags(request: &Request, dialect: Dialect) -> Vec<(String, String)> {
    let mut tags = attributes(request);
    if let Some(sql) = request.sql.as_deref() {
        tags.extend(sql::tags(sql, dialect));
        tags.extend(marginalia(sql));
    }
    tags
}

/// MySQL's query attributes that are texts.
fn attributes(request: &Request) -> Vec<(String, String)> {
    // VARCHAR, VAR_STRING, STRING, and the BLOB types.
    const TEXTS: &[u32] = &[0x0f, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe];
    let named = request.params.iter().zip(&request.param_names).filter(|(_, name)| !name.is_empty());
    let texts = named.filter(|(param, _)| TEXTS.contains(&(param.type_id & 0xff)));
    texts
        .filter_map(|(param, name)| {
            let value = std::str::from_utf8(param.value.as_deref()?).ok()?;
            Some((name.to_string(), value.to_owned()))
        })
        .collect()
}

/// The comment that marginalia and Rails' QueryLogs put at a statement's end or beginning: `/*application:Shop,controller:orders*/`.
/// Their values hold no quotes; a comment in which anything else stands is not theirs.
fn marginalia(sql: &str) -> Vec<(String, String)> {
    let text = sql.trim().trim_end_matches(';').trim_end();
    let last = text.strip_suffix("*/").and_then(|text| text.rsplit_once("/*")).map(|(_, inner)| inner);
    let first = text.strip_prefix("/*").and_then(|text| text.split_once("*/")).map(|(inner, _)| inner);
    [last, first].into_iter().flatten().find_map(pairs).unwrap_or_default()
}

fn pairs(inner: &str) -> Option<Vec<(String, String)>> {
    // What an order to a router or an executed comment would look like is none.
    let pairs: Option<Vec<_>> = inner.trim().split(',').map(pair).collect();
    pairs.filter(|pairs| pairs.iter().any(|(key, _)| KEYS.contains(&key.as_str())))
}

/// Keys of which a comment has at least one.
const KEYS: &[&str] = &[
    "application",
    "controller",
    "action",
    "job",
    "route",
    "endpoint",
    "controller_with_namespace",
    "namespaced_controller",
];

fn pair(pair: &str) -> Option<(String, String)> {
    let (key, value) = pair.trim().split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_key && !value.contains(['\'', '"', '\n'])).then(|| (key.to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marginalia_is_a_comment_at_either_end_with_nothing_else_in_it() {
        let pairs = |text: &str| {
            let tags: Vec<String> = marginalia(text).into_iter().map(|(key, value)| format!("{key}={value}")).collect();
            tags.join(" ")
        };
        for (sql, tags) in [
            (
                "SELECT 1 /*application:Shop,controller:orders,action:show*/",
                "application=Shop controller=orders action=show",
            ),
            ("/* controller:a */ SELECT 1", "controller=a"),
            ("SELECT 1 /*application:A,line:/app/x.rb:12:in `y'*/", ""),
            ("SELECT 1 /*application:A,line:/app/x.rb:12*/", "application=A line=/app/x.rb:12"),
            ("SELECT '/*controller:a*/'", ""),
            ("SELECT 1 /* see ticket: 12 */", ""),
            ("SELECT 1 /*hostgroup:1*/", ""),
            ("SELECT /*controller:a*/ 1", ""),
            ("/*controller:a*/", "controller=a"),
        ] {
            assert_eq!(pairs(sql), tags, "{sql}");
        }
    }
}
