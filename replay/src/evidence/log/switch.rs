//! The settings of a server's general log: switched on for the run, and put back afterwards.

use crate::control::{Client, Control, DriverError, Family, MysqlControl, is_on, required, text};
use crate::pair::{Node, Passwords};

/// The settings as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Settings {
    general_log: String,
    log_output: String,
    slow_query_log: String,
    sql_log_off: String,
    /// MariaDB: whose statements stay out of the log: those inside stored programs (`sp`) and of replication (`slave`).
    disabled: Option<String>,
}

impl Settings {
    async fn of(client: &MysqlControl) -> Result<Self, DriverError> {
        let names = "@@GLOBAL.general_log AS general_log, @@GLOBAL.log_output AS log_output, \
                     @@GLOBAL.slow_query_log AS slow_query_log, @@GLOBAL.sql_log_off AS sql_log_off";
        let row = client.row(&format!("SELECT {names}")).await?;
        let of = |name| required(Some(&row), name, text);
        let disabled = match client.family() {
            Family::Mariadb => client.row("SELECT @@GLOBAL.log_disabled_statements AS disabled").await.ok(),
            Family::Mysql => None,
        };
        Ok(Settings {
            general_log: of("general_log")?,
            log_output: of("log_output")?,
            slow_query_log: of("slow_query_log")?,
            sql_log_off: of("sql_log_off")?,
            disabled: disabled.as_ref().map(|row| required(Some(row), "disabled", text)).transpose()?,
        })
    }

    /// What switches the log on. Logs that are written to files go on being written there.
    fn switch_on(&self) -> Vec<String> {
        let to_files = names(&self.log_output).any(|name| name.eq_ignore_ascii_case("FILE"));
        let files = to_files && (is_on(&self.general_log) || is_on(&self.slow_query_log));
        let mut all = vec![format!("SET GLOBAL log_output = '{}'", if files { "FILE,TABLE" } else { "TABLE" })];
        if let Some(disabled) = &self.disabled {
            let wanted = ["slave", "sp"];
            if !wanted.iter().all(|wanted| names(disabled).any(|name| name == *wanted)) {
                all.push("SET GLOBAL log_disabled_statements = 'slave,sp'".to_owned());
            }
        }
        all.extend(["SET GLOBAL sql_log_off = 0".to_owned(), "SET GLOBAL general_log = 1".to_owned()]);
        all
    }

    /// What puts everything back.
    fn switch_back(&self) -> Vec<String> {
        let mut all = vec![
            format!("SET GLOBAL general_log = {}", number(&self.general_log)),
            format!("SET GLOBAL sql_log_off = {}", number(&self.sql_log_off)),
        ];
        if let Some(disabled) = &self.disabled {
            all.push(format!("SET GLOBAL log_disabled_statements = '{disabled}'"));
        }
        all.push(format!("SET GLOBAL log_output = '{}'", self.log_output));
        all
    }
}

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}

fn number(value: &str) -> u8 {
    is_on(value).into()
}

/// The log while it is switched on. Dropped, it puts the settings back over a connection of its own.
#[derive(Debug)]
pub struct Switch {
    node: Node,
    passwords: Passwords,
    before: Option<Settings>,
}

impl Switch {
    /// Switches the log on.
    ///
    /// # Errors
    /// The server's; what was changed before is put back.
    pub async fn on(client: &MysqlControl, node: &Node, passwords: &Passwords) -> Result<Self, DriverError> {
        // The right to read it comes first: without it nothing is to be changed.
        client.rows("SELECT event_time FROM mysql.general_log LIMIT 0").await?;
        let before = Settings::of(client).await?;
        let statements = before.switch_on();
        let mut switch = Switch { node: node.clone(), passwords: passwords.clone(), before: None };
        for statement in statements {
            client.run(&statement).await?;
            switch.before = Some(before.clone());
        }
        Ok(switch)
    }

    /// Puts the settings back.
    ///
    /// # Errors
    /// The server's, with what is left to be done by hand.
    pub async fn back(&mut self, client: &MysqlControl) -> Result<(), String> {
        let Some(before) = self.before.take() else { return Ok(()) };
        let statements = before.switch_back();
        for (at, statement) in statements.iter().enumerate() {
            if let Err(error) = client.run(statement).await {
                return Err(by_hand(&error, statements.get(at..).unwrap_or_default()));
            }
        }
        Ok(())
    }

    /// What is left to be done by hand when the server cannot be reached for this reason.
    pub fn lost(&mut self, reason: &impl std::fmt::Display) -> String {
        let statements = self.before.take().map(|before| before.switch_back()).unwrap_or_default();
        by_hand(reason, &statements)
    }
}

fn by_hand(reason: &impl std::fmt::Display, statements: &[String]) -> String {
    format!("the settings of its log could not be put back ({reason}): run {}", statements.join("; "))
}

impl Drop for Switch {
    /// The replay has failed, or has ended by a panic.
    fn drop(&mut self) {
        if self.before.is_none() {
            return;
        }
        let mut switch =
            Switch { node: self.node.clone(), passwords: self.passwords.clone(), before: self.before.take() };
        let name = self.node.name.clone();
        // This thread may be one of a runtime's, which must not wait for another.
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let back = async |switch: &mut Switch| match Control::open(&switch.node, &switch.passwords).await {
                Ok(control) => match control.client() {
                    Client::Mysql(client) => switch.back(client).await,
                    Client::Postgresql(_) => Err(switch.lost(&DriverError::OtherEngine)),
                },
                Err(error) => Err(switch.lost(&error)),
            };
            match runtime {
                Ok(runtime) => runtime.block_on(back(&mut switch)),
                Err(error) => Err(switch.lost(&error)),
            }
        });
        if let Ok(Err(problem)) = thread.join() {
            // Nobody is left who could be told in another way.
            eprintln!("node \"{name}\": {problem}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(general_log: &str, log_output: &str, slow: &str, disabled: Option<&str>) -> Settings {
        Settings {
            general_log: general_log.to_owned(),
            log_output: log_output.to_owned(),
            slow_query_log: slow.to_owned(),
            sql_log_off: "0".to_owned(),
            disabled: disabled.map(str::to_owned),
        }
    }

    #[test]
    fn the_log_goes_to_the_table_and_files_go_on() {
        let usual = settings("0", "FILE", "0", Some("sp"));
        assert_eq!(
            usual.switch_on(),
            [
                "SET GLOBAL log_output = 'TABLE'",
                "SET GLOBAL log_disabled_statements = 'slave,sp'",
                "SET GLOBAL sql_log_off = 0",
                "SET GLOBAL general_log = 1"
            ]
        );
        assert_eq!(
            usual.switch_back(),
            [
                "SET GLOBAL general_log = 0",
                "SET GLOBAL sql_log_off = 0",
                "SET GLOBAL log_disabled_statements = 'sp'",
                "SET GLOBAL log_output = 'FILE'"
            ]
        );
        for (general, slow) in [("1", "0"), ("0", "ON")] {
            assert_eq!(settings(general, "FILE", slow, None).switch_on()[0], "SET GLOBAL log_output = 'FILE,TABLE'");
        }
        assert_eq!(settings("1", "TABLE", "1", Some("slave,sp")).switch_on().len(), 3);
        assert_eq!(settings("1", "NONE", "0", None).switch_back()[0], "SET GLOBAL general_log = 1");
    }
}
