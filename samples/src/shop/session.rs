//! One client's life.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::client::{Answer, Broken, Client};
use super::{Summary, browse, buy, housekeeping, report};
use crate::sandbox::DATABASE;

/// What all clients share.
#[derive(Debug, Clone, Copy)]
pub struct Life {
    /// Where to connect.
    pub port: u16,
    /// Mean pause between two actions.
    pub pace: Duration,
    /// When to stop at the latest.
    pub deadline: Instant,
    /// Requests to send.
    pub share: u64,
}

/// What a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The shop's application, as user `shop`.
    Shop,
    /// Reports, as user `report`, which may only read.
    Report,
}

/// Users and articles that belong to one client alone.
const USERS_EACH: i32 = 40;
const SKUS_EACH: i32 = 16;

/// Where the clients' own identifiers begin, and how many each has.
const FIRST_ID: i32 = 100_000;
const IDS_EACH: i32 = 10_000;

/// One client with its connection.
#[derive(Debug)]
pub struct Session {
    /// Its number, which its rows and identifiers follow from.
    pub number: usize,
    /// The connection.
    pub client: Client,
    /// Its own source of chance.
    pub rng: Rng,
    role: Role,
    life: Life,
    next_id: i32,
    summary: Summary,
}

impl Session {
    /// Connects, deals actions until its share of requests is sent, and says goodbye.
    pub async fn live(number: usize, mut rng: Rng, life: Life, role: Role) -> Result<Summary, Broken> {
        // Not all at once.
        pause(&mut rng, life.pace / 2).await;
        let base = i32::try_from(number).unwrap_or_default();
        let client = connect(life, role).await?;
        let summary = Summary { sessions: 1, ..Summary::default() };
        let next_id = FIRST_ID + base * IDS_EACH;
        let mut session = Self { number, client, rng, role, life, next_id, summary };
        session.introduce().await?;
        'life: loop {
            let mut deck = match role {
                Role::Shop => Action::deck(&SHOP),
                Role::Report => Action::deck(&REPORT),
            };
            session.rng.shuffle(&mut deck);
            for action in deck {
                let sent = session.summary.requests + session.client.requests();
                if sent >= life.share || Instant::now() >= life.deadline {
                    break 'life;
                }
                pause(&mut session.rng, life.pace).await;
                session.perform(action).await?;
            }
        }
        session.summary.requests += session.client.terminate().await?;
        Ok(session.summary)
    }

    /// What a driver prepares on every new connection.
    async fn introduce(&mut self) -> Result<(), Broken> {
        match self.role {
            Role::Shop => browse::prepare(self).await,
            Role::Report => report::prepare(self).await,
        }
    }

    /// Goes and comes back, as a pool does with a connection that has lived long enough.
    pub async fn reconnect(&mut self) -> Result<(), Broken> {
        let fresh = connect(self.life, self.role).await?;
        self.summary.requests += std::mem::replace(&mut self.client, fresh).terminate().await?;
        self.summary.sessions += 1;
        self.introduce().await
    }

    /// Runs a text; an error is counted and the client goes on, as an application would.
    pub async fn query(&mut self, sql: &str) -> Result<Answer, Broken> {
        let answer = self.client.query(sql).await?;
        Ok(self.note(answer))
    }

    /// Sends the queued messages with a Sync.
    pub async fn sync(&mut self) -> Result<Answer, Broken> {
        let answer = self.client.sync().await?;
        Ok(self.note(answer))
    }

    /// Counts an error of an answer.
    pub fn note(&mut self, answer: Answer) -> Answer {
        if let Some((code, _)) = &answer.error {
            *self.summary.errors.entry(code.clone()).or_default() += 1;
        }
        answer
    }

    /// A user of this client's own.
    pub fn user(&mut self) -> i32 {
        own(&mut self.rng, self.number, USERS_EACH)
    }

    /// An article of this client's own.
    pub fn sku(&mut self) -> i32 {
        own(&mut self.rng, self.number, SKUS_EACH)
    }

    /// A user that may be anybody's; read only what nobody changes of it.
    pub fn anyone(&mut self) -> i32 {
        self.rng.i32(1..=500)
    }

    /// An order of the seed data, which nobody changes.
    pub fn old_order(&mut self) -> i32 {
        self.rng.i32(1..=1500)
    }

    /// An identifier that no other client uses and this one has not used.
    pub fn fresh_id(&mut self) -> i32 {
        self.next_id += 1;
        self.next_id
    }

    /// A moment of thought inside a transaction.
    pub async fn think(&mut self) {
        tokio::time::sleep(Duration::from_micros(self.rng.u64(0..3000))).await;
    }

    async fn perform(&mut self, action: Action) -> Result<(), Broken> {
        match action {
            Action::Article => browse::article(self).await,
            Action::ArticleByText => browse::article_by_text(self).await,
            Action::PersonInBinary => browse::person_in_binary(self).await,
            Action::Person => browse::person(self).await,
            Action::OrderPage => browse::order_page(self).await,
            Action::OrderLines => browse::order_lines(self).await,
            Action::OpenOrders => browse::open_orders(self).await,
            Action::Tagged => browse::tagged(self).await,
            Action::Commented => browse::commented(self).await,
            Action::Batch => browse::batch(self).await,
            Action::Coherent => browse::coherent(self).await,
            Action::Pages => browse::pages(self).await,
            Action::Login => buy::login(self).await,
            Action::SignUp => buy::sign_up(self).await,
            Action::Profile => buy::profile(self).await,
            Action::Order => buy::order(self).await,
            Action::OrderTwice => buy::order_twice(self).await,
            Action::Pay => buy::pay(self).await,
            Action::LookThenBuy => buy::look_then_buy(self).await,
            Action::ChangeOfMind => buy::change_of_mind(self).await,
            Action::Duplicate => buy::duplicate(self).await,
            Action::Basket => housekeeping::basket(self).await,
            Action::Exclusive => housekeeping::exclusive(self).await,
            Action::Settings => housekeeping::settings(self).await,
            Action::Cursor => housekeeping::cursor(self).await,
            Action::Import => housekeeping::import(self).await,
            Action::Export => housekeeping::export(self).await,
            Action::Prepared => housekeeping::prepared(self).await,
            Action::Notify => housekeeping::notify(self).await,
            Action::Explain => housekeeping::explain(self).await,
            Action::Several => housekeeping::several(self).await,
            Action::Rebuild => housekeeping::rebuild(self).await,
            Action::Clock => housekeeping::clock(self).await,
            Action::Reconnect => self.reconnect().await,
            Action::Revenue => report::revenue(self).await,
            Action::TopArticles => report::top_articles(self).await,
            Action::Totals => report::totals(self).await,
            Action::Snapshot => report::snapshot(self).await,
            Action::Dump => report::dump(self).await,
            Action::Plan => report::plan(self).await,
        }
    }
}

/// Something a client does: one request, or several that belong together. The modules say what each is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Article,
    ArticleByText,
    PersonInBinary,
    Person,
    OrderPage,
    OrderLines,
    OpenOrders,
    Tagged,
    Commented,
    Batch,
    Coherent,
    Pages,
    Login,
    SignUp,
    Profile,
    Order,
    OrderTwice,
    Pay,
    LookThenBuy,
    ChangeOfMind,
    Duplicate,
    Basket,
    Exclusive,
    Settings,
    Cursor,
    Import,
    Export,
    Prepared,
    Notify,
    Explain,
    Several,
    Rebuild,
    Clock,
    Reconnect,
    Revenue,
    TopArticles,
    Totals,
    Snapshot,
    Dump,
    Plan,
}

/// How often each action is in a shop client's deck. Every card is dealt once before any comes again, so that
/// even a short run has each of them.
const SHOP: [(Action, usize); 34] = [
    (Action::Article, 8),
    (Action::ArticleByText, 6),
    (Action::PersonInBinary, 2),
    (Action::Person, 4),
    (Action::OrderPage, 4),
    (Action::OrderLines, 4),
    (Action::OpenOrders, 2),
    (Action::Tagged, 2),
    (Action::Commented, 1),
    (Action::Batch, 2),
    (Action::Coherent, 2),
    (Action::Pages, 1),
    (Action::Login, 3),
    (Action::SignUp, 1),
    (Action::Profile, 3),
    (Action::Order, 3),
    (Action::OrderTwice, 1),
    (Action::Pay, 3),
    (Action::LookThenBuy, 2),
    (Action::ChangeOfMind, 1),
    (Action::Duplicate, 1),
    (Action::Basket, 1),
    (Action::Exclusive, 1),
    (Action::Settings, 1),
    (Action::Cursor, 1),
    (Action::Import, 1),
    (Action::Export, 1),
    (Action::Prepared, 1),
    (Action::Notify, 1),
    (Action::Explain, 1),
    (Action::Several, 1),
    (Action::Rebuild, 1),
    (Action::Clock, 1),
    (Action::Reconnect, 1),
];

/// The deck of a report client.
const REPORT: [(Action, usize); 7] = [
    (Action::Revenue, 4),
    (Action::TopArticles, 4),
    (Action::Totals, 4),
    (Action::Snapshot, 2),
    (Action::Dump, 1),
    (Action::Plan, 1),
    (Action::Reconnect, 1),
];

impl Action {
    fn deck(counts: &[(Self, usize)]) -> Vec<Self> {
        counts.iter().flat_map(|(action, count)| std::iter::repeat_n(*action, *count)).collect()
    }
}

async fn connect(life: Life, role: Role) -> Result<Client, Broken> {
    let (user, application) = match role {
        Role::Shop => ("shop", "web"),
        Role::Report => ("report", "reports"),
    };
    Client::connect(life.port, user, DATABASE, application).await
}

fn own(rng: &mut Rng, number: usize, each: i32) -> i32 {
    i32::try_from(number).unwrap_or_default() * each + rng.i32(1..=each)
}

/// Waits for a random time with this mean, as if requests came by chance, and never for more than four times
/// the mean.
pub async fn pause(rng: &mut Rng, mean: Duration) {
    let chance = -(1.0 - rng.f64()).ln();
    tokio::time::sleep(mean.mul_f64(chance.min(4.0))).await;
}
