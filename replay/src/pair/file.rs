//! From the text of a `pair.toml` to a checked [`Pair`].

use std::collections::HashSet;
use std::net::ToSocketAddrs;
use std::path::Path;

use serde::Deserialize;

use super::addresses::{self, Clash};
use super::{Defaults, Engine, EvidenceSource, Node, Pair, PairError, Role, Url};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    engine: Engine,
    router: RouterFields,
    #[serde(rename = "node")]
    nodes: Vec<NodeFields>,
    #[serde(default)]
    defaults: DefaultsFields,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouterFields {
    url: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeFields {
    name: String,
    role: Role,
    url: String,
    evidence: EvidenceWord,
    tap: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum EvidenceWord {
    Tap,
    Log,
    None,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DefaultsFields {
    user: Option<String>,
    database: Option<String>,
}

impl Pair {
    /// Reads and checks a `pair.toml`. Opens no connection.
    pub fn read(path: &Path) -> Result<Pair, PairError> {
        let text = std::fs::read_to_string(path).map_err(|source| PairError::Read { path: path.to_owned(), source })?;
        Pair::parse(path, &text)
    }

    /// Checks the text of a `pair.toml`; `path` is only for messages.
    pub fn parse(path: &Path, text: &str) -> Result<Pair, PairError> {
        let file: File = toml::from_str(text).map_err(|error| syntax(path, text, &error))?;
        let field = |field: String, problem: String| PairError::Field { path: path.to_owned(), field, problem };
        let url = |field: String, url: Result<Url, _>| {
            let url = url.and_then(|url| url.of_engine(file.engine));
            url.map_err(|source| PairError::Url { path: path.to_owned(), field, source })
        };

        let router = url("router.url".to_owned(), Url::parse_router(&file.router.url))?;
        let mut names = HashSet::new();
        let mut nodes = Vec::with_capacity(file.nodes.len());
        for (index, node) in file.nodes.into_iter().enumerate() {
            if !is_name(&node.name) {
                let problem = format!(
                    "\"{}\" cannot be part of a file name: use letters, digits, `_`, `.` and `-`, at most 64 of them",
                    node.name.escape_debug()
                );
                return Err(field(format!("node[{index}].name"), problem));
            }
            if !names.insert(node.name.clone()) {
                let problem = format!("\"{}\" is used twice: give each node a name of its own", node.name);
                return Err(field(format!("node[{index}].name"), problem));
            }
            let evidence = evidence(&node, file.engine)
                .map_err(|(key, problem)| field(format!("node[{index}].{key}"), problem))?;
            nodes.push(Node {
                url: url(format!("node[{index}].url"), Url::parse(&node.url))?,
                name: node.name,
                role: node.role,
                evidence,
            });
        }
        let primaries = nodes.iter().filter(|node| node.role == Role::Primary).count();
        if primaries != 1 {
            let problem = format!("{primaries} nodes have role = \"primary\": a pair has exactly one");
            return Err(field("node".to_owned(), problem));
        }
        // Without evidence nothing is judged: a primary alone is then a replay straight into a server.
        let judged = nodes.iter().any(|node| node.evidence != EvidenceSource::None);
        if judged && nodes.iter().all(|node| node.role != Role::Replica) {
            let problem = "no node has role = \"replica\": reads can only be split where there is one; add a [[node]] for it, or \
                           give the primary evidence = \"none\" to replay into it without a judgement";
            return Err(field("node".to_owned(), problem.to_owned()));
        }
        if let Some(Clash { node, key, problem }) = addresses::clash(&router, &nodes) {
            return Err(field(format!("node[{node}].{key}"), problem));
        }
        let defaults = Defaults { user: file.defaults.user, database: file.defaults.database };
        Ok(Pair { engine: file.engine, router, nodes, defaults })
    }
}

/// A node's name is part of the names of its trace files.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

/// How a node is watched, or which of its fields is wrong and why.
fn evidence(node: &NodeFields, engine: Engine) -> Result<EvidenceSource, (&'static str, String)> {
    let given = |word: &str| {
        let problem = format!("given, but evidence = \"{word}\": remove it, or set evidence = \"tap\"");
        Err(("tap", problem))
    };
    match (&node.evidence, &node.tap) {
        (EvidenceWord::None, None) => Ok(EvidenceSource::None),
        (EvidenceWord::None, Some(_)) => given("none"),
        (EvidenceWord::Log, _) if engine == Engine::Postgresql => {
            let problem = "\"log\" reads the general log, which MySQL and MariaDB have: write \"tap\" or \"none\"";
            Err(("evidence", problem.to_owned()))
        }
        (EvidenceWord::Log, None) => Ok(EvidenceSource::Log),
        (EvidenceWord::Log, Some(_)) => given("log"),
        (EvidenceWord::Tap, None) => {
            let problem = "missing: evidence = \"tap\" needs tap = \"ADDRESS:PORT\", where the router finds this node";
            Err(("tap", problem.to_owned()))
        }
        (EvidenceWord::Tap, Some(listen)) => {
            let address = listen.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
            let problem =
                || format!("\"{}\" is not an address to listen on: write \"ADDRESS:PORT\"", listen.escape_debug());
            address.map(|listen| EvidenceSource::Tap { listen }).ok_or_else(|| ("tap", problem()))
        }
    }
}

/// The parser's own message quotes the line, which may hold a password: keep the place and the reason only.
fn syntax(path: &Path, text: &str, error: &toml::de::Error) -> PairError {
    let offset = error.span().map_or(0, |span| span.start).min(text.len());
    let before = text.get(..offset).unwrap_or(text);
    PairError::Syntax {
        path: path.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1,
        message: splitproof_capture::plain(error.message()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
engine = "postgresql"
[router]
url = "postgresql://app:secret@localhost:9999/shop"
[[node]]
name = "primary"
role = "primary"
url = "postgresql://postgres@localhost:5432/shop"
evidence = "tap"
tap = "127.0.0.1:6432"
[[node]]
name = "standby"
role = "replica"
url = "postgresql://postgres@localhost:5433/shop"
evidence = "none"
[defaults]
user = "app"
"#;

    fn fails(text: &str) -> String {
        Pair::parse(Path::new("pair.toml"), text).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn a_full_file_is_read() {
        let pair = Pair::parse(Path::new("pair.toml"), GOOD).unwrap();
        assert_eq!(pair.engine, Engine::Postgresql);
        assert_eq!(pair.router.to_string(), "postgresql://app@localhost:9999/shop");
        assert_eq!(pair.primary().name, "primary");
        assert_eq!(pair.nodes[0].evidence, EvidenceSource::Tap { listen: "127.0.0.1:6432".parse().unwrap() });
        assert_eq!(pair.nodes[1].evidence, EvidenceSource::None);
        assert_eq!(pair.nodes[1].role, Role::Replica);
        assert_eq!(pair.defaults, Defaults { user: Some("app".to_owned()), database: None });
    }

    #[test]
    fn an_unknown_field_is_named_with_its_place() {
        let message = fails(&GOOD.replace("user = \"app\"", "usr = \"app\""));
        assert!(message.starts_with("pair.toml:17:1: unknown field `usr`"), "{message}");
    }

    #[test]
    fn a_missing_field_is_named() {
        let message = fails(&GOOD.replace("role = \"replica\"\n", ""));
        assert!(message.contains("missing field `role`"), "{message}");
    }

    #[test]
    fn an_unknown_role_is_answered_with_the_known_ones() {
        let message = fails(&GOOD.replace("\"replica\"", "\"slave\""));
        assert!(message.contains("unknown value `slave`: use "), "{message}");
        assert!(message.contains("`primary`") && message.contains("`replica`"), "{message}");
    }

    #[test]
    fn a_pair_has_one_primary() {
        let message = fails(&GOOD.replace("role = \"replica\"", "role = \"primary\""));
        assert_eq!(message, "pair.toml: node: 2 nodes have role = \"primary\": a pair has exactly one");
    }

    #[test]
    fn a_pair_has_a_replica() {
        let (alone, _) = GOOD.split_once("[[node]]\nname = \"standby\"").unwrap();
        assert!(fails(alone).starts_with("pair.toml: node: no node has role = \"replica\""), "{}", fails(alone));
        let unwatched = alone.replace("evidence = \"tap\"\ntap = \"127.0.0.1:6432\"", "evidence = \"none\"");
        assert_eq!(
            Pair::parse("pair.toml".as_ref(), &unwatched).map(|pair| pair.nodes.len()).ok(),
            Some(1),
            "{unwatched}"
        );
    }

    #[test]
    fn a_tap_needs_an_address() {
        let message = fails(&GOOD.replace("tap = \"127.0.0.1:6432\"\n", ""));
        assert!(message.starts_with("pair.toml: node[0].tap: missing"), "{message}");
        let message = fails(&GOOD.replace("127.0.0.1:6432", "6432"));
        assert!(message.starts_with("pair.toml: node[0].tap: \"6432\" is not an address"), "{message}");
    }

    #[test]
    fn a_tap_does_not_connect_to_itself() {
        let own = GOOD.replace("localhost:5432", "127.0.0.1:6432");
        assert!(fails(&own).contains("node[0].tap: the tap listens on the address of node \"primary\""));
    }

    #[test]
    fn every_url_is_of_the_pairs_engine() {
        let message = fails(&GOOD.replace("engine = \"postgresql\"", "engine = \"mysql\""));
        assert!(
            message.starts_with("pair.toml: router.url: a URL of postgresql, and the pair's engine is mysql"),
            "{message}"
        );
        let pair = GOOD.replace("engine = \"postgresql\"", "engine = \"mysql\"").replace("postgresql://", "mysql://");
        let pair =
            Pair::parse(Path::new("pair.toml"), &pair.replace("evidence = \"none\"", "evidence = \"log\"")).unwrap();
        assert_eq!(pair.engine, Engine::Mysql);
        assert_eq!(pair.nodes[1].evidence, EvidenceSource::Log);
        assert_eq!(pair.nodes[1].url.to_string(), "mysql://postgres@localhost:5433/shop");
    }

    #[test]
    fn the_general_log_is_not_postgresqls() {
        let message = fails(&GOOD.replace("evidence = \"none\"", "evidence = \"log\""));
        assert!(message.starts_with("pair.toml: node[1].evidence: \"log\" reads the general log"), "{message}");
    }

    #[test]
    fn names_are_unique_and_fit_a_file_name() {
        assert!(fails(&GOOD.replace("\"standby\"", "\"primary\"")).contains("node[1].name: \"primary\" is used twice"));
        assert!(fails(&GOOD.replace("\"standby\"", "\"a/b\"")).contains("node[1].name: \"a/b\" cannot be"));
    }

    #[test]
    fn a_bad_url_names_its_field_and_keeps_the_password() {
        let message = fails(&GOOD.replace("app:secret@localhost:9999", "app:secret@localhost:99999"));
        assert!(message.starts_with("pair.toml: router.url: "), "{message}");
        assert!(!message.contains("secret"), "{message}");
        let message = fails(&GOOD.replace("[router]\nurl", "[router]\nurll"));
        assert!(message.contains("unknown field `urll`") && !message.contains("secret"), "{message}");
    }

    #[test]
    fn a_router_needs_no_user_and_a_node_does() {
        let pair =
            Pair::parse(Path::new("pair.toml"), &GOOD.replace("app:secret@localhost:9999/shop", "localhost:9999/"));
        assert_eq!(pair.unwrap().router.to_string(), "postgresql://localhost:9999");
        assert!(fails(&GOOD.replace("postgres@localhost:5433", "localhost:5433")).contains("node[1].url: no user"));
    }

    #[test]
    fn debug_output_keeps_the_password() {
        let pair = Pair::parse(Path::new("pair.toml"), GOOD).unwrap();
        assert!(!format!("{pair:?}").contains("secret"));
    }
}
