//! How a client's connection begins: the router greets it as the primary would, and the client proves who it is.

use std::time::Duration;

use mysql_common::scramble::scramble_native;
use splitproof_capture::mysql::auth::plugin;
use splitproof_capture::mysql::{AuthSwitch, Capabilities, Handshake, HandshakeResponse, Opening, Status, packet};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::Client;
use super::login::Login;
use super::server::greeting;
use super::{Ended, Service};
use crate::router::config::{Authentication, Config};
use crate::router::node::PRIMARY;

/// How long a client may take to start, and a server to greet.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes that an authentication method starts from.
const SCRAMBLE: usize = 20;

/// What this router does not do, though a server may.
const NOT_OFFERED: Capabilities = Capabilities(
    Capabilities::SSL.0
        | Capabilities::COMPRESS.0
        | Capabilities::ZSTD.0
        | Capabilities::QUERY_ATTRIBUTES.0
        | Capabilities::OPTIONAL_METADATA.0
        | Capabilities::MULTI_FACTOR.0,
);

/// How the primary greets.
#[derive(Clone, Debug)]
pub struct Greeting {
    version: Vec<u8>,
    capabilities: Capabilities,
    collation: u8,
}

impl Service {
    /// How the primary greets; asked once.
    async fn greeting(&self) -> Result<&Greeting, Ended> {
        let nodes = &self.shared.router.nodes;
        let address = nodes.get(PRIMARY).map_or("", |node| &node.control);
        let ask = async {
            let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
            let mut input = Vec::new();
            loop {
                if let Some(packet) = packet::next(&input) {
                    let greeting = greeting(packet.payload).map_err(|no| no.problem)?;
                    let (version, collation) = (greeting.version.to_vec(), greeting.collation);
                    return Ok(Greeting { version, capabilities: greeting.capabilities, collation });
                }
                if stream.read_buf(&mut input).await.map_err(|error| error.to_string())? == 0 {
                    return Err("it closed the connection".to_owned());
                }
            }
        };
        let ask = async { timeout(PATIENCE, ask).await.unwrap_or_else(|_| Err("it does not greet".to_owned())) };
        let greeting = self.greeting.get_or_try_init(|| ask).await;
        greeting
            .map_err(|problem| Ended::Server { code: 2003, problem: format!("the primary at {address}: {problem}") })
    }
}

/// Greets a client and lets it in, up to the point where only a server can say more.
pub(super) async fn begin(client: &mut Client, service: &Service, connection: u32) -> Result<Login, Ended> {
    let begin = async {
        let greeting = service.greeting().await?;
        let offered =
            greeting.capabilities.without(NOT_OFFERED) | Capabilities::PLUGIN_AUTH | Capabilities::SECURE_CONNECTION;
        let scramble = scramble();
        let (start, rest) = scramble.split_first_chunk().ok_or(Ended::Gone)?;
        let mut payload = Vec::new();
        Handshake {
            version: &greeting.version,
            connection,
            scramble_start: *start,
            scramble_rest: rest,
            capabilities: offered,
            collation: greeting.collation,
            status: Status::AUTOCOMMIT,
            plugin: plugin::NATIVE_PASSWORD,
        }
        .encode(&mut payload)?;
        client.send(&payload);
        client.flush().await?;
        let payload = client.payload().await?;
        let Opening::Response(response) = Opening::decode(&payload)? else {
            return Err(Ended::Unsupported("TLS is not offered by this router"));
        };
        client.capabilities = offered.agreed(response.capabilities);
        if !client.capabilities.contains(Capabilities::PROTOCOL_41) {
            return Err(Ended::Unsupported("clients from before MySQL 4.1 are not served"));
        }
        let login = login(&response, client.capabilities);
        let native = response.plugin.is_none_or(|method| method == plugin::NATIVE_PASSWORD);
        let given = native.then_some(response.proof.0);
        authenticate(client, &login.user, given, &scramble, &service.shared.router.config).await?;
        Ok(login)
    };
    timeout(PATIENCE, begin).await.unwrap_or(Err(Ended::Gone))
}

/// Checks a client's proof; one by another method is asked for again.
pub(super) async fn authenticate(
    client: &mut Client,
    user: &str,
    given: Option<&[u8]>,
    with: &[u8],
    config: &Config,
) -> Result<(), Ended> {
    if config.authentication == Authentication::Trust {
        return Ok(());
    }
    let refused = || Ended::Password(user.to_owned());
    let password = config.password(user).ok_or_else(refused)?;
    let right = |scramble: &[u8], given: &[u8]| match scramble_native(scramble, password.as_bytes()) {
        Some(expected) => given == expected,
        None => given.is_empty(),
    };
    if let Some(given) = given {
        return if right(with, given) { Ok(()) } else { Err(refused()) };
    }
    let fresh = scramble();
    let mut payload = Vec::new();
    AuthSwitch { plugin: plugin::NATIVE_PASSWORD, data: &[&fresh[..], b"\0"].concat() }.encode(&mut payload)?;
    client.send(&payload);
    client.flush().await?;
    let given = client.payload().await?;
    if right(&fresh, &given) { Ok(()) } else { Err(refused()) }
}

fn login(response: &HandshakeResponse<'_>, capabilities: Capabilities) -> Login {
    let attributes =
        response.attributes.map(|attributes| splitproof_capture::mysql::Attributes::bytes(attributes.iter()));
    Login {
        user: String::from_utf8_lossy(response.user).into_owned(),
        database: response.database.filter(|name| !name.is_empty()).map(<[u8]>::to_vec),
        capabilities: capabilities.0,
        collation: response.collation.into(),
        max_packet: response.max_packet,
        attributes: attributes.unwrap_or_default(),
    }
}

/// Bytes that no string ends within.
fn scramble() -> [u8; SCRAMBLE] {
    std::array::from_fn(|_| fastrand::u8(b'!'..=b'~'))
}
