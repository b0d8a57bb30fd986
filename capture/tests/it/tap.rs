//! The relay between real sockets and a server that says what the test tells it to.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use splitproof_capture::tap::{Encryption, Error, Options, Relay, Stopped};
use splitproof_capture::trace::{Engine, Loss, Losses, Request, Sink};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::dialogue::postgresql::*;

/// The next thing that the server does.
enum Act {
    /// Waits for exactly these bytes.
    Read(Vec<u8>),
    Write(Vec<u8>),
    /// Waits for the client's end of data.
    ReadEnd,
    /// Ends its own data, and goes on reading.
    End,
}

/// A server for one connection. It closes when it has done everything.
async fn server(acts: Vec<Act>) -> (SocketAddr, JoinHandle<io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        for act in acts {
            match act {
                Act::Read(bytes) => {
                    let mut got = vec![0; bytes.len()];
                    stream.read_exact(&mut got).await?;
                    assert_eq!(got, bytes);
                }
                Act::Write(bytes) => stream.write_all(&bytes).await?,
                Act::ReadEnd => assert_eq!(stream.read(&mut [0]).await?, 0),
                Act::End => stream.shutdown().await?,
            }
        }
        Ok(())
    });
    (address, task)
}

async fn relay(upstream: SocketAddr, change: impl FnOnce(&mut Options)) -> Relay<Vec<Request>> {
    let mut options = Options::new(Engine::Postgresql, "127.0.0.1:0".parse().unwrap(), upstream.to_string());
    change(&mut options);
    Relay::start(options, Vec::new()).await.unwrap()
}

async fn stop(relay: Relay<Vec<Request>>) -> Stopped<Vec<Request>> {
    let mut stopped = timeout(Duration::from_secs(10), relay.stop()).await.expect("stops").expect("the sink");
    stopped.sink.sort_by_key(|row| (row.session, row.seq));
    stopped
}

/// The rows without their durations, which are real here.
fn lines(rows: &[Request]) -> Vec<String> {
    let timeless = |row: &Request| line(&Request { duration_ns: None, ..row.clone() });
    rows.iter().map(timeless).collect()
}

fn start() -> [Vec<u8>; 2] {
    [startup(&[("user", "shop")]), [auth_ok(), key(1, b"abcd"), ready('I')].concat()]
}

#[tokio::test]
async fn a_session_is_relayed_and_recorded() {
    let [hello, welcome] = start();
    let answer = [columns(&["?"]), row(&["1"]), tag("SELECT 1"), ready('I')].concat();
    let (address, served) = server(vec![
        Act::Read(hello.clone()),
        Act::Write(welcome.clone()),
        Act::Read(query("SELECT 1")),
        Act::Write(answer.clone()),
        Act::Read(terminate()),
        Act::ReadEnd,
    ])
    .await;
    let relay = relay(address, |_| {}).await;
    let mut client = TcpStream::connect(relay.listen()).await.unwrap();
    client.write_all(&hello).await.unwrap();
    expect_bytes(&mut client, &welcome).await;
    client.write_all(&query("SELECT 1")).await.unwrap();
    expect_bytes(&mut client, &answer).await;
    client.write_all(&terminate()).await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    served.await.unwrap().unwrap();

    let from = client.local_addr().unwrap().to_string();
    let stopped = stop(relay).await;
    assert!(stopped.losses.is_empty());
    assert_eq!(
        lines(&stopped.sink),
        ["connect  ok idle", "query Q \"SELECT 1\" ok rows=1 group=0 idle", "disconnect X ok"]
    );
    let select = &stopped.sink[1];
    assert_eq!((select.client.as_deref(), select.server.as_deref()), (Some(&*from), Some(&*address.to_string())));
    let (first, all) = (select.first_row_ns.unwrap(), select.duration_ns.unwrap());
    assert!(first <= all && all < 5_000_000_000);
    let counters = stopped.counters;
    assert_eq!((counters.accepted, counters.open, counters.broken, counters.rows), (1, 0, 0, 3));
    let sent = hello.len() + query("SELECT 1").len() + terminate().len();
    assert_eq!(counters.client_bytes, sent as u64);
    assert_eq!(counters.server_bytes, (welcome.len() + answer.len()) as u64);
}

async fn expect_bytes(stream: &mut TcpStream, bytes: &[u8]) {
    let mut got = vec![0; bytes.len()];
    timeout(Duration::from_secs(10), stream.read_exact(&mut got)).await.expect("bytes in time").unwrap();
    assert_eq!(got, bytes);
}

#[tokio::test]
async fn each_direction_ends_for_itself() {
    let (address, served) =
        server(vec![Act::Read(vec![1]), Act::ReadEnd, Act::Write(vec![2; 100_000]), Act::End]).await;
    let relay = relay(address, |_| {}).await;
    let mut client = TcpStream::connect(relay.listen()).await.unwrap();
    client.write_all(&[1]).await.unwrap();
    client.shutdown().await.unwrap();
    let mut got = Vec::new();
    client.read_to_end(&mut got).await.unwrap();
    assert_eq!(got, vec![2; 100_000]);
    served.await.unwrap().unwrap();
    assert_eq!(stop(relay).await.counters.broken, 0);
}

#[tokio::test]
async fn a_server_that_goes_away_loses_the_request() {
    let [hello, welcome] = start();
    let (address, served) =
        server(vec![Act::Read(hello.clone()), Act::Write(welcome.clone()), Act::Read(query("COMMIT"))]).await;
    let relay = relay(address, |_| {}).await;
    let mut client = TcpStream::connect(relay.listen()).await.unwrap();
    client.write_all(&hello).await.unwrap();
    expect_bytes(&mut client, &welcome).await;
    client.write_all(&query("COMMIT")).await.unwrap();
    // The client learns of it, and leaves, too.
    assert_eq!(client.read(&mut [0]).await.unwrap_or(0), 0);
    drop(client);
    served.await.unwrap().unwrap();
    let stopped = stop_when_closed(relay).await;
    assert_eq!(lines(&stopped.sink), ["connect  ok idle", "query Q \"COMMIT\" lost group=0", "disconnect  lost"]);
}

/// Stops once no connection is open.
async fn stop_when_closed(relay: Relay<Vec<Request>>) -> Stopped<Vec<Request>> {
    for _ in 0..1_000 {
        if relay.counters().accepted > 0 && relay.counters().open == 0 {
            return stop(relay).await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("still open: {:?}", relay.counters());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_counted_and_recorded() {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let relay = relay(address, |_| {}).await;
    let mut client = TcpStream::connect(relay.listen()).await.unwrap();
    assert_eq!(client.read(&mut [0]).await.unwrap_or(0), 0);
    let stopped = stop_when_closed(relay).await;
    assert_eq!((stopped.counters.unreachable, stopped.counters.broken), (1, 0));
    let [refused] = stopped.sink.as_slice() else { panic!("{:#?}", stopped.sink) };
    assert_eq!(lines(&stopped.sink), ["connect  error"]);
    let why = refused.error_message.as_deref().unwrap();
    assert!(why.starts_with("the server cannot be reached: ") && why.contains("refused"), "{why}");
}

#[tokio::test]
async fn encryption_is_refused_in_the_servers_place() {
    let [hello, welcome] = start();
    // The server sees nothing of it.
    let (address, served) = server(vec![Act::Read(hello.clone()), Act::Write(welcome.clone()), Act::ReadEnd]).await;
    let relay = relay(address, |options| options.encryption = Encryption::Refuse).await;
    let mut client = TcpStream::connect(relay.listen()).await.unwrap();
    for request in [gss_request(), ssl_request()] {
        client.write_all(&request).await.unwrap();
        expect_bytes(&mut client, b"N").await;
    }
    // In two pieces: the relay must not wait for the whole message in vain.
    let (head, tail) = hello.split_at(6);
    client.write_all(head).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    client.write_all(tail).await.unwrap();
    expect_bytes(&mut client, &welcome).await;
    client.shutdown().await.unwrap();
    served.await.unwrap().unwrap();
    let stopped = stop_when_closed(relay).await;
    assert!(stopped.losses.is_empty(), "{:?}", stopped.losses);
    assert_eq!(lines(&stopped.sink), ["connect  ok idle", "disconnect  ok"]);
}

#[tokio::test]
async fn encryption_that_the_server_grants_is_counted() {
    let (address, served) =
        server(vec![Act::Read(ssl_request()), Act::Write(b"S".to_vec()), Act::Read(vec![0x16; 50]), Act::ReadEnd])
            .await;
    let relay = relay(address, |_| {}).await;
    let mut client = TcpStream::connect(relay.listen()).await.unwrap();
    client.write_all(&ssl_request()).await.unwrap();
    expect_bytes(&mut client, b"S").await;
    client.write_all(&[0x16; 50]).await.unwrap();
    client.shutdown().await.unwrap();
    served.await.unwrap().unwrap();
    let stopped = stop_when_closed(relay).await;
    assert_eq!((stopped.sink, stopped.losses.get(Loss::Encrypted)), (Vec::new(), 1));
}

#[tokio::test]
async fn stopping_cuts_what_is_open() {
    let [hello, welcome] = start();
    let (address, served) =
        server(vec![Act::Read(hello.clone()), Act::Write(welcome.clone()), Act::Read(query("SELECT 1")), Act::ReadEnd])
            .await;
    let relay = relay(address, |_| {}).await;
    let mut client = TcpStream::connect(relay.listen()).await.unwrap();
    client.write_all(&[hello, query("SELECT 1")].concat()).await.unwrap();
    expect_bytes(&mut client, &welcome).await;
    let stopped = stop(relay).await;
    assert_eq!(lines(&stopped.sink), ["connect  ok idle", "query Q \"SELECT 1\" unfinished group=0"]);
    assert_eq!(client.read(&mut [0]).await.unwrap_or(0), 0);
    served.await.unwrap().ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_decoder_slows_the_relay_and_loses_nothing() {
    let data: Vec<u8> = (0..2_000_000u32).map(|n| (n % 251) as u8).collect();
    let copy = [copy_start_in(), vec![]].concat();
    let [hello, welcome] = start();
    let message = [b"d".as_slice(), &(data.len() as u32 + 4).to_be_bytes(), &data].concat();
    let (address, served) = server(vec![
        Act::Read(hello.clone()),
        Act::Write(welcome.clone()),
        Act::Read(query("COPY t FROM STDIN")),
        Act::Write(copy.clone()),
        Act::Read([message.clone(), copy_done()].concat()),
        Act::Write([tag("COPY 1"), ready('I')].concat()),
        Act::ReadEnd,
    ])
    .await;
    // Less than one piece fits, so that nearly every piece has to wait for the one before.
    let relay = relay(address, |options| options.backlog = 1_000).await;
    let mut client = TcpStream::connect(relay.listen()).await.unwrap();
    client.write_all(&hello).await.unwrap();
    expect_bytes(&mut client, &welcome).await;
    client.write_all(&query("COPY t FROM STDIN")).await.unwrap();
    expect_bytes(&mut client, &copy).await;
    client.write_all(&[message, copy_done()].concat()).await.unwrap();
    expect_bytes(&mut client, &[tag("COPY 1"), ready('I')].concat()).await;
    client.shutdown().await.unwrap();
    served.await.unwrap().unwrap();
    let stopped = stop_when_closed(relay).await;
    assert!(stopped.losses.is_empty() && stopped.counters.waits > 0);
    assert!(*stopped.sink[1].copy_data[0] == *data);
}

fn copy_start_in() -> Vec<u8> {
    copy_start(splitproof_capture::postgresql::copy::CopyDirection::In)
}

#[tokio::test]
async fn bad_addresses_are_told_at_once() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = taken.local_addr().unwrap();
    let start = |listen, upstream: &str| Relay::start(Options::new(Engine::Postgresql, listen, upstream), Vec::new());
    let error = start(listen, "127.0.0.1:1").await.unwrap_err();
    assert!(matches!(error, Error::Listen { .. }) && error.to_string().contains(&listen.to_string()), "{error}");
    let free = "127.0.0.1:0".parse().unwrap();
    let error = start(free, "no-port").await.unwrap_err();
    assert!(matches!(error, Error::Resolve { .. }) && error.to_string().contains("HOST:PORT"), "{error}");
    drop(taken);
    let error = start(listen, &listen.to_string()).await.unwrap_err();
    assert!(matches!(error, Error::Loop { .. }), "{error}");
}

/// Keeps what it hears of losses.
#[derive(Clone, Default)]
struct Heard(std::sync::Arc<std::sync::Mutex<Losses>>);

impl Sink for Heard {
    fn request(&mut self, _: Request) {}

    fn losses(&mut self, losses: &Losses) {
        *self.0.lock().unwrap() = losses.clone();
    }
}

#[tokio::test]
async fn losses_are_told_while_the_relay_runs() {
    let nonsense = b"\0\0\0\x08\x12\x34\x56\x78no protocol of ours".to_vec();
    let (address, _served) = server(vec![Act::Read(nonsense.clone()), Act::ReadEnd]).await;
    let heard = Heard::default();
    let options = Options::new(Engine::Postgresql, "127.0.0.1:0".parse().unwrap(), address.to_string());
    let relay = Relay::start(options, heard.clone()).await.unwrap();
    let mut client = TcpStream::connect(relay.listen()).await.unwrap();
    client.write_all(&nonsense).await.unwrap();
    let told = async {
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if !heard.0.lock().unwrap().is_empty() {
                break;
            }
        }
    };
    timeout(Duration::from_secs(20), told).await.expect("hears of the loss");
    drop(client);
    relay.stop().await.expect("the sink");
}
