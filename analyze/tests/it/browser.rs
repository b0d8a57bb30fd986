//! A headless Chromium, driven over the pipe of its debugging protocol.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long the browser may take for anything.
const LIMIT: Duration = Duration::from_secs(120);

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    page: Option<String>,
    number: u64,
    /// What happened meanwhile.
    events: Vec<Value>,
    _home: TempDir,
}

impl Browser {
    /// Starts one; `None` where there is no Chromium.
    pub fn start() -> Option<Browser> {
        let program = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
            let found = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            found.is_ok_and(|status| status.success())
        })?;
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name).display().to_string();
        // The protocol's pipe is on the file descriptors 3 and 4.
        let made = Command::new("mkfifo").args([path("in"), path("out")]).status().unwrap();
        assert!(made.success(), "mkfifo");
        let line = "exec \"$0\" \"$@\" 3<\"$IN\" 4>\"$OUT\"";
        let child = Command::new("bash")
            .args(["-c", line, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-background-networking", "--remote-debugging-pipe"])
            .args(["--host-resolver-rules=MAP * ~NOTFOUND", &format!("--user-data-dir={}", path("profile"))])
            .envs([("IN", path("in")), ("OUT", path("out"))])
            .stdout(Stdio::null())
            .stderr(File::create(path("err")).unwrap())
            .spawn()
            .unwrap();
        let to = File::options().write(true).open(path("in")).unwrap();
        let mut out = BufReader::new(File::open(path("out")).unwrap());
        let (send, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while out.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop_if(|last| *last == 0);
                let Ok(value) = serde_json::from_slice(&message) else { return };
                message.clear();
                if send.send(value).is_err() {
                    return;
                }
            }
        });
        let mut browser = Browser { child, to, from, page: None, number: 0, events: Vec::new(), _home: home };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.page = attached["sessionId"].as_str().map(String::from);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method and gives its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": params });
        if let Some(page) = &self.page {
            message["sessionId"] = page.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut answer = self.from.recv_timeout(LIMIT).unwrap_or_else(|error| panic!("{method}: {error}"));
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// Opens a file and waits until it is there.
    pub fn open(&mut self, file: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.from.recv_timeout(LIMIT).unwrap();
            self.events.push(event);
        }
        // What the page has caused is told before this is answered.
        self.evaluate("1");
    }

    /// The value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let mut result = self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(result["exceptionDetails"].is_null(), "{result}");
        result["result"]["value"].take()
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str, code: u32, text: &str) {
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        for kind in [down, "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" {
                event["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Errors and warnings on the console since the page was opened.
    pub fn console(&self) -> Vec<String> {
        let told = |event: &&Value| {
            matches!(
                event["method"].as_str(),
                Some("Log.entryAdded" | "Runtime.consoleAPICalled" | "Runtime.exceptionThrown")
            )
        };
        self.events.iter().filter(told).map(|event| event["params"].to_string()).collect()
    }

    /// What the page asked for, itself apart, since it was opened.
    pub fn requests(&self) -> Vec<String> {
        let asked = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let urls = asked.filter_map(|event| event["params"]["request"]["url"].as_str());
        urls.filter(|url| !url.starts_with("file:") || !url.ends_with(".html")).map(String::from).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
