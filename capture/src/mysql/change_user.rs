//! Become another user: [COM_CHANGE_USER]. The steps of [authentication](super::auth) follow.
//!
//! [COM_CHANGE_USER]: https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_change_user.html

use super::attributes::Attributes;
use super::auth::Secret;
use super::capabilities::Capabilities;
use super::error::{Invalid, Unencodable};
use super::read::Reader;
use super::write;

/// Become this user, in a session that is otherwise new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// Name of the user.
    pub user: &'a [u8],
    /// The proof by the method that the client expects.
    pub proof: Secret<'a>,
    /// Database to begin with; empty for none.
    pub database: &'a [u8],
    /// Collation of what the client sends; old clients leave it out.
    pub collation: Option<u16>,
    /// Name of the method of the proof, where sent.
    pub plugin: Option<&'a [u8]>,
    /// What the client tells of itself, where sent.
    pub attributes: Option<Attributes<'a>>,
}

impl<'a> ChangeUser<'a> {
    pub(super) fn decode(mut read: Reader<'a>, capabilities: Capabilities) -> Result<Self, Invalid> {
        let has = |flag| capabilities.contains(flag);
        let user = read.nul_string()?;
        let proof = Secret(if has(Capabilities::SECURE_CONNECTION) {
            let length = read.u8()?;
            read.bytes(length.into())?
        } else {
            read.nul_string()?
        });
        let database = read.nul_string_or_rest();
        let collation = if read.is_empty() { None } else { Some(read.u16()?) };
        let plugin = (has(Capabilities::PLUGIN_AUTH) && !read.is_empty()).then(|| read.nul_string_or_rest());
        let attributes = match has(Capabilities::CONNECT_ATTRS) && !read.is_empty() {
            true => Some(Attributes::decode(&mut read)?),
            false => None,
        };
        Ok(ChangeUser { user, proof, database, collation, plugin, attributes })
    }

    pub(super) fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) -> Result<(), Unencodable> {
        let has = |flag| capabilities.contains(flag);
        write::message(out, "COM_CHANGE_USER", |out| {
            out.push(super::Code::CHANGE_USER.0);
            write::nul_string(out, self.user)?;
            match has(Capabilities::SECURE_CONNECTION) {
                true => write::short_string(out, self.proof.0)?,
                false => write::nul_string(out, self.proof.0)?,
            }
            write::nul_string(out, self.database)?;
            let Some(collation) = self.collation else { return Ok(()) };
            out.extend(collation.to_le_bytes());
            if has(Capabilities::PLUGIN_AUTH)
                && let Some(plugin) = self.plugin
            {
                write::nul_string(out, plugin)?;
            }
            if has(Capabilities::CONNECT_ATTRS)
                && let Some(attributes) = self.attributes
            {
                attributes.write(out);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::Command;
    use crate::mysql::testing::{command, hex, needs_all, unwritten, usual};

    #[test]
    fn with_everything() {
        let capabilities = usual(Capabilities::CONNECT_ATTRS);
        let payload = hex("11 726f6f7400 03 616263 7465737400 0800 6e617469766500 06 0161 03626364");
        let Command::ChangeUser(change) = command(&payload, capabilities) else { panic!("no change") };
        assert_eq!((change.user, change.proof.0, change.database), (&b"root"[..], &b"abc"[..], &b"test"[..]));
        assert_eq!((change.collation, change.plugin), (Some(8), Some(&b"native"[..])));
        assert_eq!(change.attributes.unwrap().get(b"a"), Some(&b"bcd"[..]));
        // The database may end with the message, and everything behind it may be left out.
        needs_all(&payload[..10], 1, |payload| Command::decode(payload, capabilities).err());
    }

    #[test]
    fn old_clients_end_with_the_database() {
        let payload = hex("11 726f6f7400 14 000102030405060708090a0b0c0d0e0f10111213 7465737400");
        let Command::ChangeUser(change) = command(&payload, usual(Capabilities::default())) else { panic!() };
        assert_eq!((change.database, change.collation, change.plugin), (&b"test"[..], None, None));
    }

    #[test]
    fn names_cannot_hold_nul() {
        let change = ChangeUser {
            user: b"a\0b",
            proof: Secret(b""),
            database: b"",
            collation: None,
            plugin: None,
            attributes: None,
        };
        unwritten(|out| change.encode(usual(Capabilities::default()), out));
    }
}
