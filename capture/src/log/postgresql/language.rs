//! Messages in other languages, which are not read.

use memchr::memmem;

/// How durations and statements begin in PostgreSQL's message catalogues: German, Spanish, French, Italian, Japanese, Georgian,
/// Korean, Russian, Swedish, Ukrainian.
const BEGINNINGS: &[&str] = &[
    "Dauer: ",
    "Anweisung: ",
    "duración: ",
    "sentencia: ",
    "durée : ",
    "instruction : ",
    "durata: ",
    "istruzione: ",
    "期間: ",
    "文: ",
    "ხანგრძლივობა: ",
    "실행시간: ",
    "명령 구문: ",
    "продолжительность: ",
    "оператор: ",
    "varaktighet: ",
    "sats: ",
    "тривалість: ",
];

/// Whether a message tells of a statement in another language than English.
pub(super) fn is_foreign(message: &[u8]) -> bool {
    BEGINNINGS.iter().any(|beginning| message.starts_with(beginning.as_bytes()))
}

/// Whether a line holds such a message.
pub(super) fn holds_foreign(line: &[u8]) -> bool {
    !line.is_ascii() && BEGINNINGS.iter().any(|beginning| memmem::find(line, beginning.as_bytes()).is_some())
}

/// What to do about it.
pub(super) fn problem(entries: u64) -> String {
    format!(
        "{entries} entries are in another language than English, which is not read: have the server log in English \
         (lc_messages = 'C' in postgresql.conf), and record again"
    )
}
