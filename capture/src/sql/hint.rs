//! Comments that routers read as orders, and what of a comment stays in a normalised text.

/// Words by which a router recognises a comment meant for it, in lower case.
///
/// - `no load balance`: pgpool-II, at the start of a statement
/// - `pgdog_role`, `pgdog_shard`, `pgdog_sharding_key`: PgDog
/// - `pgcat`, `shard_id:`, `sharding_key:`: PgCat
/// - `hostgroup`: ProxySQL
/// - `maxscale`: MaxScale
/// - `sharding hint`, `shardingsphere hint`: ShardingSphere
const MARKS: &[&[u8]] = &[
    b"no load balance",
    b"pgdog_",
    b"pgcat",
    b"shard_id:",
    b"sharding_key:",
    b"hostgroup",
    b"maxscale",
    b"sharding hint",
    b"shardingsphere hint",
];

/// Comments that are a hint only when they say nothing else (kingshard, ShardingSphere and older proxies).
const WHOLE: &[&[u8]] = &[b"master", b"slave", b"primary", b"replica", b"force_master"];

/// No hint is longer; a longer one would carry values that make every statement a shape of its own.
const LONGEST: usize = 64;

/// What of a comment stays, between its marks: an order to a router; at the start of a text the empty comment, because
/// routers treat such a statement differently.
pub(super) fn kept(comment: &[u8], at_start: bool) -> Option<&[u8]> {
    of_comment(comment).or(at_start.then_some(b""))
}

/// The part of a comment that orders a route: from the mark to the next `,`, `;` or line end.
fn of_comment(comment: &[u8]) -> Option<&[u8]> {
    let inner = match comment {
        [b'/', b'*', inner @ .., b'*', b'/'] | [b'-', b'-', inner @ ..] | [b'/', b'*', inner @ ..] => inner,
        _ => comment,
    };
    let inner = inner.trim_ascii();
    if WHOLE.iter().any(|word| inner.eq_ignore_ascii_case(word)) {
        return Some(inner);
    }
    let start = MARKS.iter().filter_map(|mark| find(inner, mark)).min()?;
    let hint = inner.get(start..)?;
    let end = hint.iter().position(|byte| matches!(byte, b',' | b';' | b'\n' | b'\r')).unwrap_or(hint.len());
    // Cut at ASCII, so that what remains is still UTF-8.
    let end = hint.iter().take(end.min(LONGEST)).position(|byte| !byte.is_ascii()).unwrap_or(end.min(LONGEST));
    hint.get(..end).map(<[u8]>::trim_ascii)
}

fn find(text: &[u8], mark: &[u8]) -> Option<usize> {
    text.windows(mark.len()).position(|window| window.eq_ignore_ascii_case(mark))
}

#[cfg(test)]
mod tests {
    use super::of_comment;

    #[test]
    fn known_hints_keep_their_text_and_others_do_not() {
        let hint =
            |text: &'static str| of_comment(text.as_bytes()).map(|hint| String::from_utf8_lossy(hint).to_string());
        assert_eq!(hint("/*NO LOAD BALANCE*/").as_deref(), Some("NO LOAD BALANCE"));
        assert_eq!(hint("/* pgdog_role: replica, trace=1 */").as_deref(), Some("pgdog_role: replica"));
        assert_eq!(hint("/* hostgroup=1;max_lag_ms=5 */").as_deref(), Some("hostgroup=1"));
        assert_eq!(hint("-- maxscale route to master").as_deref(), Some("maxscale route to master"));
        assert_eq!(hint("/*master*/").as_deref(), Some("master"));
        assert_eq!(hint("/* the master plan */"), None);
        assert_eq!(hint("/* app:web */"), None);
        assert_eq!(hint("/*").as_deref(), None);
    }
}
