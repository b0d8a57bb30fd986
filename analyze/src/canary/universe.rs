//! A trace's shapes, and which part of the traffic sends which.

use std::collections::{BTreeMap, HashMap, HashSet};

use splitproof_capture::sql::Dialect;
use splitproof_capture::trace::{self, Kind, Reader, Request};

use crate::attribution::needs_execution;
use crate::route::{Route, tags};
use crate::run::dialect;

/// What makes two requests belong to the same group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// The user of the session.
    User,
    /// The application, as the session told it.
    Application,
    /// The database.
    Database,
    /// The client's address, without its port.
    Client,
    /// The application's route.
    Route,
    /// A tag of its comment or attributes.
    Tag(String),
}

impl By {
    /// The word on the command line.
    pub fn name(&self) -> String {
        match self {
            By::User => "user".into(),
            By::Application => "application".into(),
            By::Database => "database".into(),
            By::Client => "client".into(),
            By::Route => "route".into(),
            By::Tag(key) => format!("tag:{key}"),
        }
    }

    /// The group of a request; `None` where it tells none.
    fn of(&self, request: &Request, dialect: Dialect) -> Option<String> {
        let text =
            |value: &Option<std::sync::Arc<str>>| value.as_deref().filter(|text| !text.is_empty()).map(String::from);
        match self {
            By::User => text(&request.user),
            By::Application => text(&request.application),
            By::Database => text(&request.database),
            By::Client => {
                let client = text(&request.client)?;
                Some(client.rsplit_once(':').map_or(client.clone(), |(address, _)| address.to_owned()))
            }
            By::Route => Route::of(request, dialect).map(|route| route.to_string()),
            By::Tag(key) => tags(request, dialect)
                .into_iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(key))
                .map(|(_, value)| value),
        }
    }
}

impl std::str::FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "user" => Ok(By::User),
            "application" | "service" => Ok(By::Application),
            "database" => Ok(By::Database),
            "client" => Ok(By::Client),
            "route" => Ok(By::Route),
            _ => match text.strip_prefix("tag:").filter(|key| !key.is_empty()) {
                Some(key) => Ok(By::Tag(key.to_owned())),
                None => Err(format!("{text}: expected user, application, database, client, route or tag:KEY")),
            },
        }
    }
}

/// One shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UniverseShape {
    /// Shape id.
    pub id: u64,
    /// Its text.
    pub text: String,
    /// Its requests.
    pub requests: u64,
    /// The time that clients waited for them, nanoseconds.
    pub time_ns: u64,
    /// Sessions that sent it.
    pub sessions: u64,
}

/// One group of the traffic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UniverseGroup {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// Its shapes, by their place in [`Universe::shapes`].
    pub shapes: Vec<usize>,
}

/// A trace's shapes and groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Universe {
    /// The shapes, in the order of their first requests.
    pub shapes: Vec<UniverseShape>,
    /// The groups, by name.
    pub groups: Vec<UniverseGroup>,
    /// Sessions that sent any.
    pub sessions: u64,
    /// Requests that execute a statement.
    pub requests: u64,
    /// Those among them that tell no group.
    pub without_group: u64,
}

impl Universe {
    /// Reads a trace.
    pub fn read(trace: &Reader, by: &By) -> Result<Self, trace::Error> {
        let dialect = dialect(trace.manifest().engine, "");
        let mut universe = Universe::default();
        let mut places: HashMap<u64, usize> = HashMap::new();
        let mut groups: BTreeMap<String, (u64, HashSet<usize>)> = BTreeMap::new();
        let mut open: HashMap<u64, HashSet<usize>> = HashMap::new();
        for request in trace.requests() {
            let request = request?;
            if request.kind == Kind::Disconnect {
                open.remove(&request.session);
            }
            let Some(sql) = request.sql.as_deref().filter(|_| needs_execution(&request)) else { continue };
            let id = request.shape_id.unwrap_or_else(|| dialect.shape_id(sql));
            let at = *places.entry(id).or_insert_with(|| {
                universe.shapes.push(UniverseShape { id, text: dialect.normalize(sql), ..UniverseShape::default() });
                universe.shapes.len() - 1
            });
            let seen = open.entry(request.session).or_insert_with(|| {
                universe.sessions += 1;
                HashSet::new()
            });
            if let Some(shape) = universe.shapes.get_mut(at) {
                shape.requests += 1;
                shape.time_ns += request.duration_ns.unwrap_or(0);
                shape.sessions += u64::from(seen.insert(at));
            }
            universe.requests += 1;
            match by.of(&request, dialect) {
                Some(name) => {
                    let (requests, shapes) = groups.entry(name).or_default();
                    *requests += 1;
                    shapes.insert(at);
                }
                None => universe.without_group += 1,
            }
        }
        universe.groups = groups
            .into_iter()
            .map(|(name, (requests, shapes))| {
                let mut shapes: Vec<usize> = shapes.into_iter().collect();
                shapes.sort_unstable();
                UniverseGroup { name, requests, shapes }
            })
            .collect();
        Ok(universe)
    }
}
