//! Keys that an INSERT gives (MySQL and MariaDB).

use splitproof_capture::trace::{Param, Request};

/// Whether the key of the row that a request inserted was given by it and not generated; false where that is not known.
///
/// A statement that names the key's column may still leave the key to the server, with NULL or 0. Which of the two it did
/// the server tells: "the last insert id" is the generated key, and else the one that was given (MySQL manual,
/// `mysql_insert_id()`). The one that was given stands in the request.
pub(super) fn gives_key(request: &Request) -> bool {
    match request.last_insert_id {
        Some(key) => {
            let text = key.to_string();
            request.sql.as_deref().is_some_and(|sql| has_number(sql, &text))
                || request.params.iter().any(|param| is_number(param, key, &text))
        }
        // With rows (RETURNING) the answer has no place for it.
        None => request.rows.is_none() && request.outcome == splitproof_capture::trace::Outcome::Ok,
    }
}

/// True when the number stands in the text by itself.
fn has_number(sql: &str, number: &str) -> bool {
    let within = |byte: Option<&u8>| byte.is_some_and(|&byte| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte));
    sql.match_indices(number).any(|(at, _)| {
        let (before, rest) = sql.as_bytes().split_at(at);
        !within(before.last()) && !within(rest.get(number.len()))
    })
}

/// True when a parameter is the number, as an integer of any length or as a text.
fn is_number(param: &Param, number: u64, text: &str) -> bool {
    let Some(value) = param.value.as_deref() else { return false };
    let mut bytes = [0; 8];
    let integer = match bytes.get_mut(..value.len()) {
        Some(low) if matches!(value.len(), 1 | 2 | 4 | 8) => {
            low.copy_from_slice(value);
            u64::from_le_bytes(bytes) == number
        }
        _ => false,
    };
    integer || value == text.as_bytes()
}

#[cfg(test)]
mod tests {
    use splitproof_capture::trace::{Kind, Outcome};

    use super::*;

    fn request(sql: &str, key: Option<u64>, params: &[&[u8]]) -> Request {
        let mut request = Request::new(1, 1, 0, Kind::Execute);
        (request.sql, request.last_insert_id, request.outcome) = (Some(sql.into()), key, Outcome::Ok);
        request.params = params.iter().map(|&value| Param { value: Some(value.into()), ..Param::default() }).collect();
        request
    }

    #[test]
    fn a_key_that_stands_in_the_request_was_given() {
        for (sql, key, params, given) in [
            ("INSERT INTO t (id, n) VALUES (17, 4)", Some(17), &[][..], true),
            ("INSERT INTO t (id, n) VALUES ('17', 4)", Some(17), &[], true),
            ("INSERT INTO t (id, n) VALUES (NULL, 4)", Some(17), &[], false),
            ("INSERT INTO t (id, n) VALUES (0, 117)", Some(17), &[], false),
            ("INSERT INTO t (id, n) VALUES (0, 17.5)", Some(17), &[], false),
            ("INSERT INTO t17 (id, n) VALUES (0, 1)", Some(17), &[], false),
            ("INSERT INTO t (id, n) VALUES (?, ?)", Some(17), &[b"\x11\0\0\0".as_slice(), b"x"], true),
            ("INSERT INTO t (id, n) VALUES (?, ?)", Some(17), &[b"17".as_slice(), b"x"], true),
            ("INSERT INTO t (id, n) VALUES (?, ?)", Some(17), &[b"\0\0\0\0".as_slice(), b"x"], false),
            ("INSERT INTO t (id, n) VALUES (?, ?)", Some(17), &[b"\x11\0\0".as_slice()], false),
            ("INSERT IGNORE INTO t (id, n) VALUES (0, 1)", None, &[], true),
        ] {
            assert_eq!(gives_key(&request(sql, key, params)), given, "{sql} {key:?} {params:?}");
        }
        let returning = Request { rows: Some(1), ..request("INSERT INTO t (id) VALUES (0) RETURNING id", None, &[]) };
        assert!(!gives_key(&returning), "nothing is known");
    }
}
