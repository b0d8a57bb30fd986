//! The shop's clients on PostgreSQL.
//!
//! - [`client`]: one connection, message by message
//! - `browse`, `buy`, `housekeeping`, `report`: the actions, by what they are for

mod browse;
mod buy;
pub mod client;
mod housekeeping;
mod report;

use client::{Answer, Broken};

use super::common;
use super::session::{self, Answered, Role};
use crate::sandbox::DATABASE;

/// One client.
type Session = session::Session<client::Client>;

impl session::Client for client::Client {
    type Action = Action;
    type Broken = Broken;

    fn deck(role: Role) -> &'static [(Action, usize)] {
        match role {
            Role::Shop | Role::Worker => &SHOP,
            Role::Report => &REPORT,
        }
    }

    async fn connect(port: u16, role: Role) -> Result<Self, Broken> {
        Self::connect(port, role.user(), DATABASE, role.application()).await
    }

    async fn introduce(session: &mut Session, role: Role) -> Result<(), Broken> {
        match role {
            Role::Shop | Role::Worker => browse::prepare(session).await,
            Role::Report => report::prepare(session).await,
        }
    }

    async fn perform(session: &mut Session, action: Action) -> Result<(), Broken> {
        match action {
            Action::Article => browse::article(session).await,
            Action::ArticleByText => browse::article_by_text(session).await,
            Action::PersonInBinary => browse::person_in_binary(session).await,
            Action::Person => browse::person(session).await,
            Action::OrderPage => browse::order_page(session).await,
            Action::OrderLines => common::order_lines(session).await,
            Action::OpenOrders => browse::open_orders(session).await,
            Action::Tagged => common::tagged(session).await,
            Action::Commented => browse::commented(session).await,
            Action::Batch => browse::batch(session).await,
            Action::Coherent => browse::coherent(session).await,
            Action::Pages => browse::pages(session).await,
            Action::Login => buy::login(session).await,
            Action::SignUp => buy::sign_up(session).await,
            Action::Profile => common::profile(session).await,
            Action::Order => buy::order(session).await,
            Action::OrderTwice => buy::order_twice(session).await,
            Action::Pay => common::pay(session).await,
            Action::LookThenBuy => common::look_then_buy(session).await,
            Action::ChangeOfMind => common::change_of_mind(session).await,
            Action::Duplicate => common::duplicate(session).await,
            Action::Basket => housekeeping::basket(session).await,
            Action::Exclusive => housekeeping::exclusive(session).await,
            Action::Settings => housekeeping::settings(session).await,
            Action::Cursor => housekeeping::cursor(session).await,
            Action::Import => housekeeping::import(session).await,
            Action::Export => housekeeping::export(session).await,
            Action::Prepared => housekeeping::prepared(session).await,
            Action::Notify => housekeeping::notify(session).await,
            Action::Explain => housekeeping::explain(session).await,
            Action::Several => housekeeping::several(session).await,
            Action::Rebuild => housekeeping::rebuild(session).await,
            Action::Clock => housekeeping::clock(session).await,
            Action::Reconnect => session.reconnect().await,
            Action::Revenue => report::revenue(session).await,
            Action::TopArticles => report::top_articles(session).await,
            Action::Totals => report::totals(session).await,
            Action::Snapshot => report::snapshot(session).await,
            Action::Dump => report::dump(session).await,
            Action::Plan => report::plan(session).await,
        }
    }

    async fn ask(&mut self, sql: &str) -> Result<Option<String>, Broken> {
        Ok(self.query(sql).await?.error_code())
    }

    fn requests(&self) -> u64 {
        self.requests()
    }

    async fn leave(self) -> Result<u64, Broken> {
        self.terminate().await
    }
}

impl Session {
    /// Runs a text; an error is counted and the client goes on, as an application would.
    async fn query(&mut self, sql: &str) -> Result<Answer, Broken> {
        let answer = self.client.query(sql).await?;
        Ok(self.note(answer))
    }

    /// Sends the queued messages with a Sync.
    async fn sync(&mut self) -> Result<Answer, Broken> {
        let answer = self.client.sync().await?;
        Ok(self.note(answer))
    }
}

impl Answered for Answer {
    fn error_code(&self) -> Option<String> {
        self.error.as_ref().map(|(code, _)| code.clone())
    }
}

/// Something a client does: one request, or several that belong together. The modules say what each is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
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
