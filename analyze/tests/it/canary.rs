//! A canary that covers rare shapes with little traffic.

use splitproof_analyze::canary::{By, Canary, Cost, Target, Universe, choose};
use splitproof_capture::trace::{Engine, Kind, Losses, Options, Outcome, Reader, Request, Sink, Writer};

use crate::command::analyze;

/// Sessions, each with its user, client, and statements.
fn trace(dir: &std::path::Path, sessions: &[(&str, &str, &[&str])]) {
    let mut writer = Writer::create(dir, Options::new(Engine::Postgresql, "packets")).unwrap();
    let mut at = 1_800_000_000_000_000_000;
    for (session, (user, client, statements)) in sessions.iter().enumerate() {
        for (seq, sql) in statements.iter().enumerate() {
            let mut request = Request::new(session as u64, seq as u32, at, Kind::Query);
            (request.sql, request.messages) = (Some((*sql).into()), "Q".into());
            request.shape_id = Some(splitproof_capture::sql::shape_id(sql));
            (request.outcome, request.duration_ns) = (Outcome::Ok, Some(1_000_000));
            request.user = Some(*user).filter(|user| !user.is_empty()).map(Into::into);
            request.client = Some((*client).into());
            writer.request(request);
            at += 1_000_000;
        }
    }
    writer.finish(&Losses::default()).unwrap();
}

/// One busy service with two shapes, two quiet ones with rare shapes, and a session that tells no user.
const SESSIONS: &[(&str, &str, &[&str])] = &[
    ("web", "10.0.0.1:5000", &["SELECT 1", "SELECT 1", "SELECT a", "SELECT 1", "SELECT 1", "SELECT 1"]),
    ("web", "10.0.0.1:5001", &["SELECT 1", "SELECT a", "SELECT 1", "SELECT 1"]),
    ("jobs", "10.0.0.2:1", &["DELETE FROM q", "SELECT 1", "SELECT a /*route='%2Fa'*/"]),
    ("bills", "10.0.0.3:1", &["SELECT b FOR UPDATE", "UPDATE b SET n = 1"]),
    ("", "10.0.0.4:1", &["SELECT c"]),
];

fn canary(by: By, target: &str, cost: Cost) -> Result<Canary, String> {
    let dir = tempfile::tempdir().unwrap();
    trace(&dir.path().join("window"), SESSIONS);
    let universe = Universe::read(&Reader::open(dir.path().join("window")).unwrap(), &by).unwrap();
    let target: Target = target.parse().unwrap();
    choose(&universe, &by, target, cost, 0.2).map_err(|error| error.to_string())
}

fn names(canary: &Canary) -> Vec<&str> {
    canary.chosen.iter().map(|group| group.name.as_str()).collect()
}

#[test]
fn the_quiet_services_cover_the_shapes_with_a_third_of_the_traffic() {
    // 6 shapes; jobs has 3 of them with 3 of 16 requests, bills 2 with 2; web has nothing that jobs has not.
    let found = canary(By::User, "shapes=80%", Cost::Requests).unwrap();
    assert_eq!(names(&found), ["jobs", "bills"]);
    assert_eq!((found.shapes, found.requests, found.cost, found.lower_bound), (6, 16, 5, 5));
    assert!((found.covered - 5.0 / 6.0).abs() < 1e-12 && (found.requests_share - 5.0 / 16.0).abs() < 1e-12);
    assert_eq!(
        found.left.iter().map(|left| (left.shape.text.as_str(), left.group.clone())).collect::<Vec<_>>(),
        [("select c", None)]
    );
    // One of five sessions: of the six shapes one is in three of them (3/5), one in three (3/5), four in one (1/5).
    let expected = (3.0 / 5.0 + 3.0 / 5.0 + 4.0 / 5.0) / 6.0;
    assert!((found.random.covered - expected).abs() < 1e-12, "{:?}", found.random);
    assert_eq!(found.random.sessions, 1);
}

#[test]
fn calls_are_covered_by_whoever_sends_their_shapes() {
    // 9 of the 16 requests are SELECT 1, 3 SELECT a, and 1 DELETE: jobs sends all three.
    let found = canary(By::User, "calls=75%", Cost::Groups).unwrap();
    assert_eq!((names(&found), found.cost, found.lower_bound), (vec!["jobs"], 1, 1));
    assert!((found.covered - 13.0 / 16.0).abs() < 1e-12, "{found:?}");
}

#[test]
fn what_tells_no_group_cannot_be_chosen_and_is_said() {
    let error = canary(By::User, "shapes=100%", Cost::Requests).unwrap_err();
    assert!(
        error.contains("cover 83.33 % of the shapes, and 100.00 % are asked for: 1 of 16 requests tell no user"),
        "{error}"
    );
    let all = canary(By::Client, "shapes=100%", Cost::Requests).unwrap();
    assert_eq!(names(&all), ["10.0.0.2", "10.0.0.3", "10.0.0.4"], "a shape for each request, the most first");
    let tagged = canary(By::Tag("route".into()), "shapes=10%", Cost::Requests).unwrap();
    assert_eq!((names(&tagged), tagged.without_group), (vec!["/a"], 15));
}

#[test]
fn the_command_says_what_to_take() {
    let dir = tempfile::tempdir().unwrap();
    trace(&dir.path().join("window"), SESSIONS);
    let output = analyze(dir.path(), &["canary", "--by", "user", "--cover", "shapes=80%", "--random", "20%", "window"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for part in [
        "2 of 3 groups by user cover 83.3 % of the shapes (80.0 % asked for), with 31.2 % of the requests",
        "none that covers as much costs less than 5 requests",
        "1 + ln 3 = 2.1 times the best",
        "A random 20.0 % of the sessions (1 of 5) covers 33.3 % on average",
        "1 of 16 requests tell no user",
        "select c",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    for (arguments, says) in [
        (&["canary", "--by", "colour", "window"][..], "expected user, application"),
        (&["canary", "--cover", "shapes", "window"], "such as shapes=90%"),
        (&["canary", "--by", "user", "--cover", "shapes=99%", "window"], "ask for less"),
        (&["canary", "nowhere"], "no such directory"),
    ] {
        let output = analyze(dir.path(), arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(error.contains(says), "{error}");
    }
}
