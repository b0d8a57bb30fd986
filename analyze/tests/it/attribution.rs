//! Which executions belong to which requests.

use splitproof_analyze::attribution::{Attributor, Extra, Pinning, Placed, Placement, Receive};

use crate::scenario::{Scenario, scenario};

#[derive(Default)]
struct Found {
    placed: Vec<Placed>,
    extras: Vec<Extra>,
}

impl Receive for Found {
    fn placed(&mut self, placed: Placed) {
        self.placed.push(placed);
    }

    fn extra(&mut self, extra: Extra) {
        self.extras.push(extra);
    }
}

/// Feeds a run in start order, `step` rows at a time.
fn feed(run: &Scenario, pinning: Pinning, step: usize) -> Option<Found> {
    let mut rows: Vec<(i64, Option<usize>, &splitproof_capture::trace::Request)> =
        run.clients.iter().map(|row| (row.start_ns, None, row)).collect();
    for (node, list) in run.nodes.iter().enumerate() {
        rows.extend(list.iter().map(|row| (row.start_ns, Some(node), row)));
    }
    rows.sort_by_key(|&(start, node, row)| (start, node, row.session, row.seq));
    let mut found = Found::default();
    let mut attributor = Attributor::new(pinning);
    for (count, (start, node, row)) in rows.into_iter().enumerate() {
        match node {
            None => attributor.request(row.clone()),
            Some(node) => attributor.execution(node, row.clone()),
        }
        if count % step == 0 {
            attributor.advance(start, &mut found).ok()?;
        }
    }
    attributor.finish(&mut found).ok()?;
    Some(found)
}

/// The places of all requests that need one, as `session.seq=PLACE`, with `!` before what the router made.
fn places_with(text: &str, pinning: Pinning) -> String {
    let run = scenario(text);
    let found = words(&feed(&run, pinning, 1).expect("no contradiction"));
    let lazily = words(&feed(&run, pinning, 1000).expect("no contradiction"));
    assert_eq!(found, lazily, "the step must not matter");
    found
}

fn words(found: &Found) -> String {
    let mut words = Vec::new();
    for Placed { request, placement } in &found.placed {
        let name = |node: usize| ["P", "S"][node];
        let place = match placement {
            Placement::NotNeeded => continue,
            Placement::Unseen => "unseen".to_string(),
            Placement::Ambiguous(nodes) => {
                format!("?{}", nodes.iter().map(|&node| name(node)).collect::<String>())
            }
            Placement::Decided(sites) => sites
                .iter()
                .map(|site| match &site.execution {
                    Some(execution) => format!("{}{}", name(site.node), execution.session),
                    None => name(site.node).to_string(),
                })
                .collect::<Vec<_>>()
                .join("+"),
        };
        words.push(format!("{}.{}={place}", request.session, request.seq));
    }
    let mut extras: Vec<String> = found
        .extras
        .iter()
        .map(|extra| {
            let of = extra.repeats.map_or(String::new(), |(session, seq)| format!("={session}.{seq}"));
            format!("!{}{}{of}", ["P", "S"][extra.node], extra.execution.session)
        })
        .collect();
    extras.sort();
    words.extend(extras);
    words.join(" ")
}

fn places(text: &str) -> String {
    places_with(text, Pinning::Session)
}

#[test]
fn a_unique_statement_is_where_it_ran() {
    assert_eq!(
        places("1 10..12 UPDATE t SET a = 1 -> P7\n1 20..22 SELECT a FROM t -> S8\n1 30..32 SET x = 1 -> P7 S8"),
        "1.1=P7 1.2=S8 1.3=P7+S8"
    );
}

#[test]
fn parameters_tell_executions_apart() {
    assert_eq!(
        places(
            "1 10..14 SELECT $1 -> P7 | with=a\n2 10..14 SELECT $1 -> S8 | with=b\n3 10..14 SELECT $1 -> S9 | with=ab"
        ),
        "1.1=P7 2.1=S8 3.1=S9"
    );
}

#[test]
fn an_execution_outside_the_requests_time_is_not_its_own() {
    assert_eq!(places("1 10..12 SELECT 1\nS8 20..21 SELECT 1"), "1.1=unseen !S8");
}

#[test]
fn equal_concurrent_statements_are_told_apart_by_earlier_links() {
    assert_eq!(
        places(
            "1 1..2 SELECT 'one' -> P1 S1
             2 1..2 SELECT 'two' -> P2 S2
             1 10..14 BEGIN -> P1 S1
             2 10..14 BEGIN -> P2
             1 20..24 SELECT a FROM t -> S1
             2 20..24 SELECT a FROM t -> P2"
        ),
        "1.1=P1+S1 2.1=P2+S2 1.2=P1+S1 2.2=P2 1.3=S1 2.3=P2"
    );
}

#[test]
fn equal_concurrent_statements_are_told_apart_by_later_links() {
    assert_eq!(
        places(
            "1 10..14 BEGIN -> P1 S1
             2 10..14 BEGIN -> P2
             1 20..22 UPDATE t SET a = 1 -> P1
             2 20..22 UPDATE t SET a = 2 -> P2
             1 30..32 SELECT 'one' -> S1"
        ),
        "1.1=P1+S1 2.1=P2 1.2=P1 2.2=P2 1.3=S1"
    );
}

#[test]
fn a_backend_is_the_sessions_that_can_have_caused_all_it_did() {
    // P1 ran what 1 or 2 asked, and then what 1 or 3 asked; and so on.
    let run = "1 10..14 SELECT 1 -> P1
               2 10..14 SELECT 1 -> S2
               1 20..24 SELECT 1 -> P1
               3 20..24 SELECT 1 -> S3
               2 30..34 SELECT 1 -> S2
               3 30..34 SELECT 1 -> S3
               1 50..50 DISCONNECT";
    assert_eq!(places(run), "1.1=P1 2.1=S2 1.2=P1 3.1=S3 2.2=S2 3.2=S3");
    let pooled = "1.1=?PS 2.1=?PS 1.2=?PS 3.1=?PS 2.2=S 3.2=S";
    assert_eq!(places_with(run, Pinning::Transaction), pooled, "a pool may hand a connection over in between");
}

#[test]
fn a_backend_that_may_have_changed_hands_tells_nothing_by_that() {
    // 1 was gone, so that P1 may be 3's now: that 2 could have caused both is no reason.
    let run = "1 10..14 SELECT 1 -> P1
               2 10..14 SELECT 1 -> S2
               1 15..15 DISCONNECT
               2 20..24 SELECT 1 -> S2
               3 20..24 SELECT 1 -> P1";
    assert_eq!(places(run), "1.1=?PS 2.1=?PS 2.2=?PS 3.1=?PS");
}

#[test]
fn nothing_is_guessed_without_links() {
    assert_eq!(places("1 10..14 SELECT 1 -> P1\n2 10..14 SELECT 1 -> S1"), "1.1=?PS 2.1=?PS");
}

#[test]
fn the_node_is_known_when_every_possibility_is_on_it() {
    assert_eq!(places("1 10..14 SELECT 1 -> S1\n2 10..14 SELECT 1 -> S2"), "1.1=S 2.1=S");
}

#[test]
fn one_execution_for_two_requests_is_ambiguous() {
    assert_eq!(places("1 10..14 SELECT 1 -> S1\n2 10..14 SELECT 1"), "1.1=?S 2.1=?S");
}

#[test]
fn a_backend_connection_is_reused_after_disconnect() {
    assert_eq!(
        places(
            "1 10..12 SELECT 'one' -> S1
             1 13..13 DISCONNECT
             S1 13.5..14 DISCARD ALL
             2 15..16 CONNECT
             2 20..22 SELECT 'two' -> S1
             3 20..21 CONNECT
             3 30..34 SELECT 1 -> S3
             2 30..34 SELECT 1 -> S1
             3 40..44 SELECT 'three' -> S3"
        ),
        "1.1=S1 2.1=S1 2.2=S1 3.1=S3 3.2=S3 !S1"
    );
}

#[test]
fn the_same_statement_again_in_a_session_keeps_its_order() {
    assert_eq!(
        places("1 10..11 SELECT 1 -> P1\n1 11..12 SELECT 1 -> S1\n1 12..13 SELECT 1 -> P1"),
        "1.1=P1 1.2=S1 1.3=P1"
    );
    // A pipeline: both are on their way at the same time.
    assert_eq!(
        places("1 10..14 SELECT $1 -> S1:11..11.5 | with=a\n1 10..15 SELECT $1 -> S1:12..13 | with=a"),
        "1.1=S1 1.2=S1"
    );
}

#[test]
fn a_second_execution_of_one_request_is_reported() {
    assert_eq!(places("1 10..14 COMMIT -> P1:11..12 P1:12..13"), "1.1=P1 !P1=1.1");
}

#[test]
fn look_ups_of_the_router_are_nobodys() {
    assert_eq!(places("1 10..14 SELECT f(1) -> S1:12..13\nP1 10.5..11 SELECT count(*) FROM pg_proc"), "1.1=S1 !P1");
}

#[test]
fn what_executes_nothing_needs_no_place() {
    assert_eq!(
        places(
            "1 10..12 SELECT 1 -> S1
             1 13..14 SELECT 2 | outcome=skipped
             1 15..16 SELECT 3 | error=25P02
             1 17..18 ;"
        ),
        "1.1=S1"
    );
}

#[test]
fn a_request_without_an_end_ends_with_the_next_one() {
    let mut run = scenario("1 10..12 SELECT 1 -> S1:11..11.5\n1 20..22 SELECT 2 -> P1\nP1 40..41 SELECT 1");
    for row in &mut run.clients {
        if row.sql.as_deref() == Some("SELECT 1") {
            row.duration_ns = None;
        }
    }
    let found = feed(&run, Pinning::Session, 1).unwrap();
    let placed = found.placed.iter().find(|placed| placed.request.seq == 1).unwrap();
    assert_eq!(placed.placement.nodes().unwrap().collect::<Vec<_>>(), [1]);
    assert_eq!(found.extras.len(), 1);
}

#[test]
fn a_transaction_pooler_contradicts_session_pinning_and_is_followed() {
    let text = "1 10..12 BEGIN -> P1
                1 12..14 SELECT 'one' -> P1
                1 14..16 COMMIT -> P1
                2 20..22 BEGIN -> P1
                2 22..24 SELECT 'two' -> P1
                1 20..22 BEGIN -> P2
                1 22..24 SELECT 'one' -> P2
                2 24..26 COMMIT -> P1
                1 24..26 COMMIT -> P2";
    assert!(feed(&scenario(text), Pinning::Session, 1).is_none());
    assert_eq!(
        places_with(text, Pinning::Transaction),
        "1.1=P1 1.2=P1 1.3=P1 1.4=P2 2.1=P1 1.5=P2 2.2=P1 1.6=P2 2.3=P1"
    );
}

#[test]
fn a_backend_inside_a_transaction_is_one_sessions_until_its_end() {
    // By time alone the COMMIT on the standby could be either's.
    let text = "1 10..12 BEGIN -> P1
                2 10..12 BEGIN READ ONLY -> S1
                1 13..15 UPDATE t SET a = 1 -> P1
                2 13..15 SELECT a FROM t -> S1
                1 20..30 COMMIT -> P1:21..29
                2 22..26 COMMIT -> S1:23..24";
    assert_eq!(places_with(text, Pinning::Transaction), "1.1=P1 2.1=S1 1.2=P1 2.2=S1 1.3=P1 2.3=S1");
}

#[test]
fn requests_come_out_in_start_order_with_nothing_lost() {
    let mut text = String::new();
    for at in 0..200 {
        let session = at % 7 + 1;
        text += &format!("{session} {at}..{} SELECT a FROM t -> S{session}\n", at + 6);
    }
    let run = scenario(&text);
    let found = feed(&run, Pinning::Session, 16).unwrap();
    let order: Vec<_> = found.placed.iter().map(|placed| (placed.request.start_ns, placed.request.session)).collect();
    assert!(order.is_sorted());
    assert_eq!(found.placed.len(), run.clients.len());
    assert!(found.extras.is_empty());
}
