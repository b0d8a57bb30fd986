//! Routes of the application: which part of it asked.
//!
//! - [`tags`]: what a request says of its sender: sqlcommenter's and marginalia's comments, MySQL's query attributes
//! - [`Route`]: the route that these name, with its HTTP method where that is told

mod tags;

use serde::{Deserialize, Serialize};
use splitproof_capture::sql::Dialect;
use splitproof_capture::trace::Request;

pub use tags::tags;

/// A route of the application.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Route {
    /// The HTTP method in upper case, where it is told.
    pub method: Option<String>,
    /// Its name: a path, a controller with its action, a job; without any of these the application's name.
    pub name: String,
}

/// Tags that name a route by themselves, the first that is there counts.
const NAMES: &[&str] = &["route", "http.route", "http_route", "endpoint", "path"];
/// Tags that name work without a request.
const JOBS: &[&str] = &["job", "job_name", "job_class", "task"];
/// Tags that name the method.
const METHODS: &[&str] = &["method", "http.method", "http_method", "request_method", "verb"];
/// The methods of HTTP.
const HTTP: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

impl Route {
    /// The route that a request names; `None` where it names none, not even an application.
    pub fn of(request: &Request, dialect: Dialect) -> Option<Route> {
        Route::tagged(&tags(request, dialect)).or_else(|| {
            let name = request.application.as_deref().map(str::trim).filter(|name| !name.is_empty())?;
            Some(Route::named(name, None))
        })
    }

    /// The route that tags name.
    pub fn tagged(tags: &[(String, String)]) -> Option<Route> {
        let tag = |key: &str| {
            let value = tags.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value.trim())?;
            (!value.is_empty()).then_some(value)
        };
        let method = METHODS.iter().find_map(|key| tag(key));
        if let Some(name) = NAMES.iter().find_map(|key| tag(key)) {
            return Some(Route::named(name, method));
        }
        if let Some(controller) = tag("controller") {
            let name = tag("action").map_or_else(|| controller.to_owned(), |action| format!("{controller}#{action}"));
            return Some(Route::named(&name, method));
        }
        JOBS.iter().find_map(|key| tag(key)).map(|name| Route::named(name, method))
    }

    /// `GET /orders` names its method itself.
    fn named(name: &str, method: Option<&str>) -> Route {
        let method = method.map(str::to_ascii_uppercase).filter(|method| HTTP.contains(&method.as_str()));
        if let Some((word, rest)) = name.split_once(' ')
            && let Some(own) = HTTP.iter().find(|own| own.eq_ignore_ascii_case(word))
        {
            return Route { method: Some((*own).to_owned()), name: rest.trim().to_owned() };
        }
        Route { method, name: name.to_owned() }
    }

    /// True for the methods that promise to change nothing (RFC 9110, section 9.2.1).
    pub fn is_safe(&self) -> bool {
        matches!(self.method.as_deref(), Some("GET" | "HEAD" | "OPTIONS"))
    }
}

impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.method {
            Some(method) => f.pad(&format!("{method} {}", self.name)),
            None => f.pad(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitproof_capture::trace::{Engine, Kind, Param};

    fn of(sql: &str, application: Option<&str>) -> Option<String> {
        let mut request = Request::new(1, 1, 0, Kind::Query);
        request.sql = Some(sql.into());
        request.application = application.map(Into::into);
        Route::of(&request, Dialect::Postgresql).map(|route| route.to_string())
    }

    #[test]
    fn the_most_telling_name_is_the_route() {
        for (sql, route) in [
            ("SELECT 1 /*route='%2Forders%2F%3Aid',controller='orders'*/", Some("/orders/:id")),
            ("SELECT 1 /*http_method='get',route='/orders'*/", Some("GET /orders")),
            ("SELECT 1 /*route='POST /orders'*/", Some("POST /orders")),
            ("SELECT 1 /*method='find_by_name',route='/orders'*/", Some("/orders")),
            ("SELECT 1 /*application:Shop,controller:orders,action:show*/", Some("orders#show")),
            ("/*application:Shop,controller:orders*/ SELECT 1", Some("orders")),
            ("SELECT 1 /*application:Shop,job:MailJob*/;", Some("MailJob")),
            ("SELECT 1 /*action='x'*/", Some("web")),
            ("SELECT 1", Some("web")),
        ] {
            assert_eq!(of(sql, Some("web")).as_deref(), route, "{sql}");
        }
        assert_eq!(of("SELECT 1", Some(" ")), None);
        assert_eq!(of("SELECT 1", None), None);
        assert_eq!(of("SELECT 1", Some("GET /from/the/application")).as_deref(), Some("GET /from/the/application"));
    }

    #[test]
    fn query_attributes_name_routes_too() {
        let mut request = Request::new(1, 1, 0, Kind::Query);
        request.sql = Some("SELECT ? /*route='/comment'*/".into());
        let value = |type_id, value: &[u8]| Param { type_id, binary: true, value: Some(value.into()) };
        request.params = vec![value(0xfd, b"/argument"), value(0xfd, b"/attribute"), value(0x03, b"\x01\0\0\0")];
        request.param_names = ["", "route", "method"].map(Into::into).to_vec();
        let route = Route::of(&request, Dialect::of(Engine::Mysql)).unwrap();
        assert_eq!((route.name.as_str(), route.method), ("/attribute", None));
    }

    #[test]
    fn only_methods_that_promise_to_change_nothing_are_safe() {
        let safe = |name: &str| Route::named(name, None).is_safe();
        assert!(safe("GET /a") && safe("head /a") && !safe("POST /a") && !safe("/a"));
    }
}
