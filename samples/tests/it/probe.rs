//! Why evidence comes from behind the router: a question inside the session is itself routed.

use splitproof_capture::trace::{Kind, Reader};
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::stage::stage;
use crate::tools::Running;

const READ: &str = "SELECT id FROM users WHERE id = 1";
const PROBE: &str = "SELECT pg_is_in_recovery()";

#[test]
fn the_probe_says_primary_for_a_statement_that_ran_on_the_standby() {
    let mut stage = stage();
    let ports = stage.sandbox.ports();
    let mut taps = Vec::new();
    for (node, listen, upstream) in
        [("primary", ports.tap_primary, ports.primary), ("standby", ports.tap_replica, ports.replica)]
    {
        let trace = stage.path(&format!("probe-{node}"));
        let (listen, upstream) = (format!("127.0.0.1:{listen}"), format!("127.0.0.1:{upstream}"));
        let arguments = ["tap", "--listen", &listen, "--upstream", &upstream, "-o"];
        let mut tap =
            Running::start("capture", arguments.into_iter().map(Into::into).chain([trace.clone().into_os_string()]));
        tap.says("listening on");
        taps.push((tap, trace));
    }
    stage.fresh("today");

    let answer = tokio::runtime::Runtime::new().unwrap().block_on(async {
        let url = format!("postgresql://shop@127.0.0.1:{}/shop", ports.router);
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.simple_query(READ).await.unwrap();
        let answer = client.simple_query(PROBE).await.unwrap();
        let value = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        value.unwrap()
    });
    assert_eq!(answer, "f", "the session believes that it talks to the primary");

    let mut seen = Vec::new();
    for (tap, trace) in taps {
        tap.interrupt();
        tap.end().expect(0, &[]);
        let count = |text: &str| {
            let requests = Reader::open(&trace).unwrap().requests();
            let asked = requests.map(Result::unwrap).filter(|row| row.kind == Kind::Query);
            asked.filter(|row| row.sql.as_deref() == Some(text)).count()
        };
        seen.push((count(READ), count(PROBE)));
    }
    assert_eq!(seen, [(0, 1), (1, 0)], "(read, probe) at the primary and at the standby");
}
