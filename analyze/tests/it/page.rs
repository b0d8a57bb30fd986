//! The HTML report in a real browser: it opens, it says what the command says, and it asks for nothing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::command::{RUN, analyze};
use crate::scenario::scenario;

/// How long the browser may take to start and to show a page.
const LIMIT: Duration = Duration::from_secs(120);

/// What the browser made of a page.
#[derive(Debug)]
struct Opened {
    dom: String,
    console: Vec<String>,
    requests: Vec<String>,
}

/// Opens a file in headless Chromium, with a proxy that notes and refuses every request. `None` when there is no Chromium.
fn open(page: &Path) -> Option<Opened> {
    let program = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let found = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    })?;
    let (proxy, requests) = proxy();
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    let mut browser = Command::new(program)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args(["--disable-dev-shm-usage", "--no-first-run", "--virtual-time-budget=5000"])
        .args(["--enable-logging=stderr", "--v=0", "--dump-dom"])
        .args([format!("--proxy-server={proxy}"), "--proxy-bypass-list=<-loopback>".to_owned()])
        .arg(format!("--user-data-dir={}", path("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stdout(std::fs::File::create(path("out")).unwrap())
        .stderr(std::fs::File::create(path("err")).unwrap())
        .spawn()
        .unwrap();
    let until = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = browser.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > until {
            browser.kill().unwrap();
            panic!("{program} did not end");
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let read = |name: &str| String::from_utf8_lossy(&std::fs::read(path(name)).unwrap()).into_owned();
    let log = read("err");
    assert!(status.success(), "{log}");
    let console = log.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect();
    let requests = requests.lock().unwrap().iter().filter(|line| !of_the_browser(line)).cloned().collect();
    Some(Opened { dom: read("out"), console, requests })
}

/// The browser looks for updates of its own, whatever the page.
fn of_the_browser(request: &str) -> bool {
    let target = request.split_whitespace().nth(1).unwrap_or_default();
    let host = target.strip_prefix("http://").unwrap_or(target).split(['/', ':']).next().unwrap_or_default();
    ["accounts.google.com", "clients2.google.com", "redirector.gvt1.com", "update.googleapis.com"].contains(&host)
        || host.ends_with("-pa.googleapis.com")
}

/// A proxy that serves nothing, and the first line of every request that it got.
fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let noted = Arc::clone(&noted);
            std::thread::spawn(move || refuse(stream, &noted));
        }
    });
    (address, requests)
}

fn refuse(mut stream: TcpStream, noted: &Mutex<Vec<String>>) {
    let mut bytes = [0; 4096];
    let Ok(read @ 1..) = stream.read(&mut bytes) else { return };
    let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
    noted.lock().unwrap().push(text.lines().next().unwrap_or_default().to_owned());
    stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok();
}

#[test]
fn the_report_opens_in_a_browser_without_errors_or_requests() {
    let dir = tempfile::tempdir().unwrap();
    // What the test looks for is found where it is.
    let bad = dir.path().join("bad.html");
    let script = "<script>console.error('seen')</script><img src='http://report.invalid/x.png'>";
    std::fs::write(&bad, format!("<!doctype html><body>{script}")).unwrap();
    let Some(bad) = open(&bad) else {
        assert!(std::env::var_os("CI").is_none(), "no Chromium");
        writeln!(std::io::stderr(), "skipped: 1 (no Chromium)").unwrap();
        return;
    };
    assert!(bad.console.iter().any(|line| line.contains("seen")), "{bad:?}");
    assert!(bad.requests.iter().any(|line| line.contains("report.invalid")), "{bad:?}");

    scenario(RUN).write(&dir.path().join("today"));
    scenario(&RUN.replace("-> P1 | affected=1", "-> S1 | error=25006")).write(&dir.path().join("candidate"));
    let output = analyze(dir.path(), &["compare", "today", "candidate", "--html", "report.html"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report = open(&dir.path().join("report.html")).unwrap();
    assert!(report.console.is_empty(), "{:?}", report.console);
    assert!(report.requests.is_empty(), "{:?}", report.requests);
    for part in ["<h1", "<svg", "UPDATE stock SET n = 1", "What is not known", "</html>"] {
        assert!(report.dom.contains(part), "{part} is not in the page");
    }
}
