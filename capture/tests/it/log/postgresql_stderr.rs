//! PostgreSQL's text log: prefixes, lines, syslog.

use splitproof_capture::log::Settings;
use splitproof_capture::trace::{Kind, Loss};

use super::scene::Log;

fn sql(log: &Log) -> Vec<&str> {
    log.rows.iter().filter(|row| row.kind != Kind::Prepare).filter_map(|row| row.sql.as_deref()).collect()
}

#[test]
fn a_prefix_can_be_given() {
    // Without its text around them the values cannot be told apart.
    let text = "app/shop/web/2021-01-22 10:00:00 UTC/77>LOG:  statement: SELECT 1\n\
                app/shop/web/2021-01-22 10:00:01 UTC/78>LOG:  statement: SELECT 2\n\
                CRON: nothing\n";
    let settings = Settings { prefix: Some("%u/%d/%a/%t/%p>".parse().expect("a prefix")), ..Settings::default() };
    let log = Log::with("postgresql-stderr", &settings, &[text.as_bytes()]);
    assert_eq!(sql(&log), ["SELECT 1", "SELECT 2"]);
    assert_eq!(log.rows[0].application.as_deref(), Some("web"));
    assert_eq!(log.losses(), [(Loss::LogMalformed, 1)]);
    assert!(log.ended.damaged.is_empty(), "{:?}", log.ended.damaged);
}

#[test]
fn a_prefix_that_is_not_understood_is_told() {
    let log = Log::read("postgresql-stderr", "app/shop 10:00 LOG:  statement: SELECT 1\n");
    assert_eq!((log.rows.len(), log.losses()), (0, vec![(Loss::LogMalformed, 1)]));
    let problem = log.ended.damaged[0].to_string();
    assert!(problem.contains("--log-line-prefix") && problem.contains("0.log"), "{problem}");
}

#[test]
fn further_lines_lose_the_tab_that_the_server_added() {
    let text = "2021-01-22 10:00:00.000 UTC [7] app@shop LOG:  statement: SELECT 'a\n\
                \t\tb\n\
                \t\n\
                \tc'\n\
                2021-01-22 10:00:01.000 UTC [7] app@shop LOG:  duration: 1000.000 ms\n";
    let log = Log::read("postgresql-stderr", text);
    assert_eq!(sql(&log), ["SELECT 'a\n\tb\n\nc'"]);
    // Some programs on the way take blanks off the end of a line, and replace tabs.
    let log = Log::read("postgresql-stderr", text.replace("\t\n", "\n").replace('\t', "        "));
    assert_eq!(sql(&log), ["SELECT 'a\n        b\n\nc'"]);
    assert_eq!(log.of(Kind::Query)[0].duration_ns, Some(1_000_000_000));
}

#[test]
fn entries_of_several_processes_may_be_mixed() {
    let text = "2021-01-22 10:00:00.000 UTC [7] app@shop LOG:  execute a: SELECT $1\n\
                2021-01-22 10:00:00.000 UTC [8] app@shop LOG:  execute b: SELECT $1\n\
                2021-01-22 10:00:00.000 UTC [7] app@shop DETAIL:  parameters: $1 = 'seven'\n\
                2021-01-22 10:00:00.000 UTC [8] app@shop DETAIL:  parameters: $1 = 'eight'\n";
    let log = Log::read("postgresql-stderr", text);
    let values: Vec<_> = log.of(Kind::Execute).iter().map(|row| row.params[0].value.as_deref()).collect();
    assert_eq!(values, [Some(&b"seven"[..]), Some(b"eight")]);
}

#[test]
fn what_begins_or_ends_within_an_entry_is_cut() {
    let whole =
        "2021-01-22 10:00:00.000 UTC [7] app@shop LOG:  duration: 1.000 ms  statement: DELETE FROM t WHERE id = 1\n";
    let tail = "\tFROM t\n\tWHERE id = 1\n2021-01-22 10:00:00.000 UTC [9] app@shop STATEMENT:  SELECT 2\n\tFROM u\n";
    let cut = &whole[..whole.len() - " WHERE id = 1\n".len()];
    let log = Log::read("postgresql-stderr", format!("{tail}{whole}{cut}"));
    assert_eq!(sql(&log), ["DELETE FROM t WHERE id = 1"], "never half of a statement");
    assert_eq!(log.losses(), [(Loss::LogTruncated, 3)]);
}

#[test]
fn lines_without_times_follow_each_other() {
    let text = "LOG:  duration: 2.000 ms  statement: SELECT 1\nLOG:  duration: 3.000 ms  statement: SELECT 2\n";
    let log = Log::read("postgresql-stderr", text);
    let times: Vec<_> = log.of(Kind::Query).iter().map(|row| (row.start_ns, row.duration_ns)).collect();
    assert_eq!(times, [(0, Some(2_000_000)), (2_000_000, Some(3_000_000))]);
    assert!(log.ended.damaged[0].to_string().contains("no time"), "{:?}", log.ended.damaged);
}

#[test]
fn zones_that_are_not_known_are_told() {
    let text = "2021-01-22 10:00:00.000 XYZ [7] app@shop LOG:  statement: SELECT 1\n";
    let log = Log::read("postgresql-stderr", text);
    assert!(log.ended.damaged[0].to_string().contains("--timezone"), "{:?}", log.ended.damaged);
    let settings = Settings { zone: Some("Europe/Berlin".parse().expect("a zone")), ..Settings::default() };
    let told = Log::with("postgresql-stderr", &settings, &[text.as_bytes()]);
    assert!(told.ended.damaged.is_empty());
    assert_eq!(log.rows[0].start_ns - told.rows[0].start_ns, 3_600_000_000_000);
}

#[test]
fn syslog_cuts_at_newlines_at_blanks_and_within_words() {
    let line = |part: &str, text: &str| format!("Feb 11 13:15:39 pc postgres[77]: [12-{part}] {text}\n");
    let word = "a".repeat(128);
    let text = [
        line("1", "app@shop LOG:  duration: 1.000 ms  statement: SELECT 1,"),
        line("2", " 2,"),
        line("3", "#011  '"),
        line("4", &word),
        line("5", "a',"),
        line("6", "#01103"),
    ];
    let log = Log::read("postgresql-stderr", text.concat());
    assert_eq!(sql(&log), [format!("SELECT 1, 2,\n  '\n{word}a',\n03")]);
    assert_eq!(log.ended.statistics.entries, 1);
}

#[test]
fn syslog_mixes_processes_and_holds_other_programs() {
    let text = "Feb 11 13:15:39 pc postgres[77]: [1-1] app@shop ERROR:  no\n\
                Feb 11 13:15:39 pc postgres[78]: [1-1] app@shop LOG:  statement: SELECT\n\
                Feb 11 13:15:39 pc systemd[1]: Started PostgreSQL.\n\
                Feb 11 13:15:39 pc postgres[77]: [1-2] app@shop STATEMENT:  SELECT 77\n\
                Feb 11 13:15:39 pc postgres[78]: [1-2] #01178\n\
                Feb 11 13:15:39 pc postgres[79]: [9-3] lost\n\
                Feb 11 13:15:39 pc postgres[79]: [9-4] lost\n";
    let settings = Settings { year: Some(2019), ..Settings::default() };
    let log = Log::with("postgresql-stderr", &settings, &[text.as_bytes()]);
    let mut texts = sql(&log);
    texts.sort_unstable();
    assert_eq!(texts, ["SELECT\n78", "SELECT 77"]);
    assert_eq!(log.losses(), [(Loss::LogTruncated, 1), (Loss::LogForeign, 1)]);
    assert!(log.rows[0].start_ns > 1_546_300_800_000_000_000 && log.rows[0].start_ns < 1_577_836_800_000_000_000);
}

#[test]
fn several_files_are_one_log() {
    let (one, two) = (
        "2021-01-22 10:00:00.000 UTC [7] app@shop LOG:  execute s: SELECT 1\n",
        "2021-01-22 10:00:01.000 UTC [7] app@shop LOG:  execute s: SELECT 1\n",
    );
    let log = Log::with("postgresql-stderr", &Settings::default(), &[one.as_bytes(), two.as_bytes()]);
    let kinds: Vec<_> = log.rows.iter().map(|row| (row.session, row.kind)).collect();
    let expected = [Kind::Connect, Kind::Prepare, Kind::Execute, Kind::Execute].map(|kind| (0, kind));
    assert_eq!(kinds, expected);
    assert!(log.ended.overlapping.is_empty());
    let log = Log::with("postgresql-stderr", &Settings::default(), &[two.as_bytes(), one.as_bytes()]);
    assert_eq!(log.ended.overlapping.len(), 0, "a second is nothing");
    let late = one.replace("10:00:00", "09:00:00");
    let log = Log::with("postgresql-stderr", &Settings::default(), &[two.as_bytes(), late.as_bytes()]);
    assert_eq!(log.ended.overlapping.len(), 1);
}
