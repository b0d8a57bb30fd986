//! The shop's clients on MariaDB.
//!
//! - [`driver`]: a connection of the shop, with a library
//! - [`wire`]: a connection of the reports, message by message
//! - `browse`, `buy`, `housekeeping`: the shop's actions, by what they are for; `report`: those of the reports

mod browse;
mod buy;
pub mod driver;
mod housekeeping;
mod report;
pub mod wire;

use driver::Driver;
use mysql_async::Params;
use wire::Wire;

use super::common;
use super::session::{self, Answered, Client, Role};

/// A client of the shop.
type Session = session::Session<Driver>;

/// A client of the reports.
type Reports = session::Session<Wire>;

/// What every connection of the shop keeps prepared.
const ARTICLE: &str = "SELECT name, price FROM stock WHERE sku = ?";

/// What came back.
#[derive(Debug, Default)]
pub struct Answer {
    /// The first column of the first row, when it is text or a number.
    pub first: Option<String>,
    /// The rows as they came.
    pub bodies: Vec<Vec<u8>>,
    /// The number of the error that the answer ended with.
    pub error: Option<u16>,
    /// The statement that was prepared.
    statement: Option<u32>,
    /// Whether a cursor has more rows.
    more: bool,
    rows: usize,
}

impl Answered for Answer {
    fn error_code(&self) -> Option<String> {
        self.error.map(|code| code.to_string())
    }
}

impl Answer {
    fn refused(code: u16) -> Self {
        Self { error: Some(code), ..Self::default() }
    }

    /// Takes rows of which the first begins with this.
    fn rows(&mut self, count: usize, first: Option<String>) {
        if self.rows == 0 {
            self.first = first;
        }
        self.rows += count;
    }
}

/// Something the shop does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Article,
    ArticleByText,
    Person,
    Search,
    OrderPage,
    CountedPage,
    OrderLines,
    OpenOrders,
    Tagged,
    Commented,
    Variable,
    Coherent,
    Login,
    SignUp,
    Audit,
    Profile,
    Order,
    OrderTwice,
    Pay,
    LookThenBuy,
    ChangeOfMind,
    ByHand,
    Duplicate,
    Basket,
    Exclusive,
    Settings,
    Import,
    ImportInBulk,
    Prepared,
    Warnings,
    Explain,
    Several,
    Rebuild,
    Locked,
    Clock,
    Recycle,
    Reconnect,
}

/// The deck of a shop client.
const SHOP: [(Action, usize); 37] = [
    (Action::Article, 8),
    (Action::ArticleByText, 6),
    (Action::Person, 4),
    (Action::Search, 2),
    (Action::OrderPage, 4),
    (Action::CountedPage, 2),
    (Action::OrderLines, 4),
    (Action::OpenOrders, 2),
    (Action::Tagged, 2),
    (Action::Commented, 1),
    (Action::Variable, 1),
    (Action::Coherent, 2),
    (Action::Login, 3),
    (Action::SignUp, 1),
    (Action::Audit, 1),
    (Action::Profile, 3),
    (Action::Order, 3),
    (Action::OrderTwice, 1),
    (Action::Pay, 3),
    (Action::LookThenBuy, 2),
    (Action::ChangeOfMind, 1),
    (Action::ByHand, 1),
    (Action::Duplicate, 1),
    (Action::Basket, 1),
    (Action::Exclusive, 1),
    (Action::Settings, 1),
    (Action::Import, 1),
    (Action::ImportInBulk, 1),
    (Action::Prepared, 1),
    (Action::Warnings, 1),
    (Action::Explain, 1),
    (Action::Several, 1),
    (Action::Rebuild, 1),
    (Action::Locked, 1),
    (Action::Clock, 1),
    (Action::Recycle, 1),
    (Action::Reconnect, 1),
];

impl Client for Driver {
    type Action = Action;
    type Broken = driver::Broken;

    fn deck(_: Role) -> &'static [(Action, usize)] {
        &SHOP
    }

    async fn connect(port: u16, role: Role) -> Result<Self, driver::Broken> {
        Self::connect(port, role).await
    }

    async fn introduce(session: &mut Session, _: Role) -> Result<(), driver::Broken> {
        session.query("SET NAMES utf8mb4").await.map(drop)
    }

    async fn perform(session: &mut Session, action: Action) -> Result<(), driver::Broken> {
        match action {
            Action::Article => browse::article(session).await,
            Action::ArticleByText => browse::article_by_text(session).await,
            Action::Person => browse::person(session).await,
            Action::Search => browse::search(session).await,
            Action::OrderPage => browse::order_page(session).await,
            Action::CountedPage => browse::counted_page(session).await,
            Action::OrderLines => common::order_lines(session).await,
            Action::OpenOrders => browse::open_orders(session).await,
            Action::Tagged => common::tagged(session).await,
            Action::Commented => browse::commented(session).await,
            Action::Variable => browse::variable(session).await,
            Action::Coherent => browse::coherent(session).await,
            Action::Login => buy::login(session).await,
            Action::SignUp => buy::sign_up(session).await,
            Action::Audit => buy::audit(session).await,
            Action::Profile => common::profile(session).await,
            Action::Order => buy::order(session).await,
            Action::OrderTwice => buy::order_twice(session).await,
            Action::Pay => common::pay(session).await,
            Action::LookThenBuy => common::look_then_buy(session).await,
            Action::ChangeOfMind => common::change_of_mind(session).await,
            Action::ByHand => buy::by_hand(session).await,
            Action::Duplicate => common::duplicate(session).await,
            Action::Basket => housekeeping::basket(session).await,
            Action::Exclusive => housekeeping::exclusive(session).await,
            Action::Settings => housekeeping::settings(session).await,
            Action::Import => housekeeping::import(session).await,
            Action::ImportInBulk => housekeeping::import_in_bulk(session).await,
            Action::Prepared => housekeeping::prepared(session).await,
            Action::Warnings => housekeeping::warnings(session).await,
            Action::Explain => housekeeping::explain(session).await,
            Action::Several => housekeeping::several(session).await,
            Action::Rebuild => housekeeping::rebuild(session).await,
            Action::Locked => housekeeping::locked(session).await,
            Action::Clock => housekeeping::clock(session).await,
            Action::Recycle => housekeeping::recycle(session).await,
            Action::Reconnect => session.reconnect().await,
        }
    }

    async fn ask(&mut self, sql: &str) -> Result<Option<String>, driver::Broken> {
        Ok(self.query(sql).await?.error_code())
    }

    fn requests(&self) -> u64 {
        self.requests()
    }

    async fn leave(self) -> Result<u64, driver::Broken> {
        self.quit().await
    }
}

impl Session {
    /// Runs a text; an error is counted and the client goes on, as an application would.
    async fn query(&mut self, sql: &str) -> Result<Answer, driver::Broken> {
        let answer = self.client.query(sql).await?;
        Ok(self.note(answer))
    }

    /// Runs a prepared statement, with the same care.
    async fn execute(&mut self, sql: &'static str, params: impl Into<Params>) -> Result<Answer, driver::Broken> {
        let answer = self.client.execute(sql, params).await?;
        Ok(self.note(answer))
    }
}

/// Something a client of the reports does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    Revenue,
    TopArticles,
    Totals,
    List,
    Search,
    Snapshot,
    Plan,
    Reconnect,
}

/// The deck of a report client.
const REPORT: [(Report, usize); 8] = [
    (Report::Revenue, 4),
    (Report::TopArticles, 4),
    (Report::Totals, 4),
    (Report::List, 2),
    (Report::Search, 2),
    (Report::Snapshot, 2),
    (Report::Plan, 1),
    (Report::Reconnect, 1),
];

impl Client for Wire {
    type Action = Report;
    type Broken = wire::Broken;

    fn deck(_: Role) -> &'static [(Report, usize)] {
        &REPORT
    }

    async fn connect(port: u16, role: Role) -> Result<Self, wire::Broken> {
        Self::connect(port, role).await
    }

    async fn introduce(session: &mut Reports, _: Role) -> Result<(), wire::Broken> {
        session.query("SET NAMES utf8mb4").await
    }

    async fn perform(session: &mut Reports, action: Report) -> Result<(), wire::Broken> {
        match action {
            Report::Revenue => report::revenue(session).await,
            Report::TopArticles => report::top_articles(session).await,
            Report::Totals => report::totals(session).await,
            Report::List => report::list(session).await,
            Report::Search => report::search(session).await,
            Report::Snapshot => report::snapshot(session).await,
            Report::Plan => report::plan(session).await,
            Report::Reconnect => session.reconnect().await,
        }
    }

    async fn ask(&mut self, sql: &str) -> Result<Option<String>, wire::Broken> {
        Ok(self.query(sql).await?.error_code())
    }

    fn requests(&self) -> u64 {
        self.requests()
    }

    async fn leave(self) -> Result<u64, wire::Broken> {
        self.quit().await
    }
}

impl Reports {
    /// Runs a text; an error is counted and the client goes on.
    async fn query(&mut self, sql: &str) -> Result<(), wire::Broken> {
        let answer = self.client.query(sql).await?;
        self.note(answer);
        Ok(())
    }
}
