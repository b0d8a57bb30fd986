//! The catalogue of known statements, whose expectations were not made for the sample router.

use serde::Deserialize;

/// The catalogue of one engine.
#[derive(Deserialize)]
pub struct Fixture {
    pub setup: String,
    pub cases: Vec<Case>,
}

/// One connection.
#[derive(Deserialize)]
pub struct Case {
    pub id: String,
    #[serde(default)]
    pub protocol: String,
    pub session: Vec<Step>,
}

/// One statement, and where it belongs.
#[derive(Deserialize)]
pub struct Step {
    pub sql: String,
    #[serde(default)]
    pub params: Vec<Option<String>>,
    pub data: Option<String>,
    #[serde(default)]
    pub allowed: Vec<String>,
    pub safe: String,
    pub error: Option<String>,
}

/// The destinations and errors of a case's statements.
pub type Told = (Vec<Vec<String>>, Vec<Option<String>>);

impl Fixture {
    /// That of an engine, by its name.
    pub fn of(engine: &str) -> Self {
        let text = std::fs::read_to_string(crate::tools::sample(&format!("fixtures/{engine}.yaml"))).unwrap();
        serde_saphyr::from_str(&text).unwrap()
    }

    /// Every statement of at least so many cases goes where it belongs, and ends as it should.
    pub fn assert_right(&self, at_least: usize, hold: impl Fn(&Case) -> Told) {
        let mut wrong = Vec::new();
        for case in &self.cases {
            let (destinations, errors) = hold(case);
            for ((step, destinations), error) in case.session.iter().zip(destinations).zip(errors) {
                let belongs = |place: &str| match place {
                    "primary" => destinations == ["primary"],
                    "replica" => destinations == ["replica"],
                    "all" => destinations.len() == 2,
                    "same" => destinations.len() == 1,
                    other => panic!("{other}"),
                };
                let fits = belongs(&step.safe) || step.allowed.iter().any(|place| belongs(place));
                if !fits || error != step.error {
                    wrong.push(format!("{}: {} ran on {destinations:?}: {error:?}", case.id, step.sql));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(self.cases.len() > at_least);
    }
}
