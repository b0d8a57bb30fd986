//! Trying the rules on a statement.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::class::Class;
use super::config::Config;
use super::digest::Digester;
use super::spooky;

/// What the rules look at beside the statement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// The user.
    pub user: String,
    /// The current database.
    pub schema: String,
    /// The client's address, without its port.
    pub client: Option<String>,
}

/// What the rules make of a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// The hostgroup; `None` where no rule names one.
    pub destination: Option<u32>,
    /// The rule that named it.
    pub rule: Option<Arc<str>>,
    /// The rules that matched, by their place.
    pub matched: Vec<u16>,
    /// The flag for the session's next statement.
    pub next_flag_in: Option<u32>,
    /// The connection's use afterwards.
    pub multiplex: Option<u32>,
    /// The client gets an error, or an answer, from ProxySQL.
    pub answered: Option<Answered>,
    /// The text is changed.
    pub rewritten: Option<Arc<[u8]>>,
}

/// What a rule answers by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// `error_msg`
    Error,
    /// `OK_msg`
    Ok,
}

/// What is remembered of a digest in a context.
struct Known {
    class: Arc<Class>,
    /// The rules that match whatever the text is, or would if the text matches.
    candidates: Vec<(u16, bool)>,
    /// What comes out where no rule looks at the text and nothing is left to chance.
    output: Option<Arc<Output>>,
}

/// A statement as the rules saw it.
pub struct Seen {
    /// What the statement is.
    pub class: Arc<Class>,
    /// What the rules make of it.
    pub output: Arc<Output>,
    /// The hostgroup that a comment in the text orders.
    pub hint: Option<u32>,
}

/// The rules, and what was found out about digests so far.
pub struct Rules {
    config: Config,
    names: Vec<Arc<str>>,
    /// Places of the active rules.
    active: Vec<u16>,
    hits: Vec<Cell<u64>>,
    digester: RefCell<Digester>,
    contexts: RefCell<HashMap<Context, u32>>,
    known: RefCell<HashMap<(u32, u32, u64), Arc<Known>>>,
}

/// Digests remembered; then all are forgotten.
const REMEMBERED: usize = 1 << 16;

impl Rules {
    /// The rules of a configuration.
    pub fn new(config: Config) -> Self {
        let places = 0..u16::try_from(config.rules.len()).unwrap_or(u16::MAX);
        Rules {
            names: config.rules.iter().map(|rule| rule.name().into()).collect(),
            active: places.filter(|&at| config.rules.get(usize::from(at)).is_some_and(|rule| rule.active)).collect(),
            hits: config.rules.iter().map(|_| Cell::new(0)).collect(),
            digester: RefCell::new(Digester::new(config.variables.digest)),
            contexts: RefCell::default(),
            known: RefCell::default(),
            config,
        }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How often each rule matched.
    pub fn hits(&self) -> impl Iterator<Item = u64> {
        self.hits.iter().map(Cell::get)
    }

    /// A number that stands for a context.
    pub fn context(&self, context: &Context) -> u32 {
        let mut contexts = self.contexts.borrow_mut();
        if let Some(&number) = contexts.get(context) {
            return number;
        }
        let number = u32::try_from(contexts.len()).unwrap_or(u32::MAX);
        contexts.insert(context.clone(), number);
        number
    }

    /// What the rules make of a text. `lot` decides where a rule draws lots; `executed` is for prepared statements, which are not rewritten
    /// any more.
    pub fn see(&self, context: (&Context, u32), flag_in: u32, sql: &[u8], executed: bool, lot: u64) -> Seen {
        let mut digester = self.digester.borrow_mut();
        let (digest, comment) = digester.digest(sql);
        let key = (context.1, flag_in, xxh3_64(digest));
        let found = self.known.borrow().get(&key).cloned();
        let known = found.unwrap_or_else(|| self.learn(context.0, key, digest, sql));
        let output = match &known.output {
            Some(output) => output.clone(),
            None => Arc::new(self.run(context.0, &known.candidates, flag_in, sql, executed, lot)),
        };
        for &at in &output.matched {
            if let Some(hits) = self.hits.get(usize::from(at)) {
                hits.set(hits.get() + 1);
            }
        }
        let hint = comment.and_then(hint);
        Seen { class: known.class.clone(), output, hint }
    }

    fn learn(&self, context: &Context, key: (u32, u32, u64), digest: &[u8], sql: &[u8]) -> Arc<Known> {
        let with_digest = self.config.variables.digests;
        // Without digests, what rules ask of them counts as fulfilled.
        let hash = with_digest.then(|| spooky::hash64(digest));
        let candidates: Vec<(u16, bool)> = self
            .active
            .iter()
            .filter(|&&at| self.fits(at, context, hash, with_digest.then_some(digest)))
            .map(|&at| (at, self.config.rules.get(usize::from(at)).is_some_and(|rule| rule.match_pattern.is_some())))
            .collect();
        let rule = |at: u16| self.config.rules.get(usize::from(at));
        let chance = candidates.iter().any(|&(at, _)| rule(at).is_some_and(|rule| !rule.flag_outs.is_empty()));
        let by_text = candidates.iter().any(|&(_, by_text)| by_text);
        let output = (!chance && !by_text).then(|| Arc::new(self.run(context, &candidates, key.1, sql, false, 0)));
        let known = Arc::new(Known { class: Arc::new(Class::of(digest, sql)), candidates, output });
        let mut remembered = self.known.borrow_mut();
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(key, known.clone());
        known
    }

    /// Whether a rule matches, its flag and what it asks of the text aside.
    fn fits(&self, at: u16, context: &Context, hash: Option<u64>, digest: Option<&[u8]>) -> bool {
        let Some(rule) = self.config.rules.get(usize::from(at)) else { return false };
        let equal = |wanted: &Option<String>, value: &str| wanted.as_deref().is_none_or(|wanted| wanted == value);
        let client = match (rule.client_addr.as_deref(), context.client.as_deref()) {
            (Some(wanted), Some(client)) => match wanted.find('%') {
                Some(end) => client.as_bytes().starts_with(&wanted.as_bytes()[..end]),
                None => wanted == client,
            },
            // An address that is not known is not looked at.
            _ => true,
        };
        let hashed = rule.digest.is_none_or(|wanted| hash.is_none_or(|hash| hash == wanted));
        let matched = match (&rule.match_digest, digest) {
            (Some(pattern), Some(digest)) => pattern.is_match(digest) != rule.negate,
            _ => true,
        };
        equal(&rule.username, &context.user) && equal(&rule.schemaname, &context.schema) && client && hashed && matched
    }

    /// Goes through the rules that may match.
    fn run(
        &self,
        context: &Context,
        candidates: &[(u16, bool)],
        flag: u32,
        sql: &[u8],
        executed: bool,
        lot: u64,
    ) -> Output {
        let mut output = Output::default();
        let mut flag = flag;
        let mut rewritten: Option<Vec<u8>> = None;
        let mut rounds = self.config.variables.iterations;
        let mut last_applies = false;
        let mut at = 0;
        while let Some(&(place, by_text)) = candidates.get(at) {
            at += 1;
            let Some(rule) = self.config.rules.get(usize::from(place)) else { continue };
            if rule.flag_in != flag {
                continue;
            }
            if by_text && let Some(pattern) = &rule.match_pattern {
                let text = rewritten.as_deref().unwrap_or(sql);
                if pattern.is_match(text) == rule.negate {
                    continue;
                }
            }
            output.matched.push(place);
            let weights: Vec<u32> = rule.flag_outs.iter().map(|&(_, weight)| weight).collect();
            let drawn = crate::simulate::draw(&weights, [lot, rule.id.into()]);
            let lots = drawn.and_then(|drawn| rule.flag_outs.get(drawn)).map(|&(flag, _)| flag);
            // A plain flagOUT comes after the lot.
            let new = rule.flag_out.or(lots);
            flag = new.unwrap_or(flag);
            output.next_flag_in = rule.next_query_flag_in.or(output.next_flag_in);
            output.multiplex = rule.multiplex.or(output.multiplex);
            if rule.ok_msg.is_some() {
                output.answered = Some(Answered::Ok);
            } else if rule.error_msg.is_some() {
                output.answered.get_or_insert(Answered::Error);
            }
            if let Some(destination) = rule.destination {
                output.destination = Some(destination);
                output.rule = self.names.get(usize::from(place)).cloned();
            }
            if let (Some(by), Some(pattern), false) = (&rule.replace_pattern, &rule.match_pattern, executed) {
                let text = rewritten.as_deref().unwrap_or(sql);
                rewritten = pattern.replace(text, by, rule.global).or(rewritten);
            }
            if rule.apply {
                last_applies = true;
                break;
            }
            if new.is_some() && rounds > 0 {
                rounds -= 1;
                at = 0;
            }
        }
        // ProxySQL asks the last rule that it looked at, whether that matched or not: behind a last rule with apply it never looks here.
        let last = self.active.last().and_then(|&at| self.config.rules.get(usize::from(at)));
        let asks = !last_applies && last.is_none_or(|rule| !rule.apply);
        if asks && let Some(&destination) = self.config.fast.get(&(context.user.clone(), context.schema.clone(), flag))
        {
            output.destination = Some(destination);
            output.rule = Some("fast routing".into());
        }
        output.rewritten = rewritten.map(Arc::from);
        output
    }
}

/// The hostgroup that the first comment orders: `/* hostgroup=1;max_lag_ms=5 */`.
fn hint(comment: &[u8]) -> Option<u32> {
    let comment = std::str::from_utf8(comment).ok()?;
    let mut hostgroup = None;
    for part in comment.split(';').filter(|part| !part.is_empty()) {
        let mut words = part.split('=').filter(|word| !word.is_empty());
        let (Some(key), Some(value)) = (words.next(), words.next()) else { continue };
        if key.trim().eq_ignore_ascii_case("hostgroup") {
            let value = value.trim();
            let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
            hostgroup = value.get(..digits).and_then(|digits| digits.parse().ok()).or(hostgroup);
        }
    }
    hostgroup
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn a_comment_orders_a_hostgroup() {
        for (comment, expected) in [
            (" hostgroup=1 ", Some(1)),
            ("HostGroup = 20;max_lag_ms=5", Some(20)),
            ("max_lag_ms=5;hostgroup=2;hostgroup=3", Some(3)),
            ("hostgroup=reader", None),
            ("hostgroup", None),
            ("app:web hostgroup 1", None),
            ("hostgroup=99999999999", None),
        ] {
            assert_eq!(hint(comment.as_bytes()), expected, "{comment}");
        }
    }
}
