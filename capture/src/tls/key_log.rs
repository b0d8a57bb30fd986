//! The secrets of TLS sessions, as clients and servers write them down where `SSLKEYLOGFILE` is set
//! (<https://www.ietf.org/archive/id/draft-ietf-tls-keylogfile-02.html>), and as pcapng files carry them.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;

/// The number that a client begins a session with. It is what the secrets of a session are known by.
pub(super) type Random = [u8; 32];

/// The secrets of TLS sessions. A handle: clones share their contents.
#[derive(Clone, Default)]
pub struct KeyLog(Arc<Mutex<Inner>>);

/// Why a file is not used as a key log.
#[derive(Debug, thiserror::Error)]
pub enum InvalidKeyLog {
    /// It cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It holds something else.
    #[error(
        "{}: not a key log: no line is a secret; give the file that a client or server wrote for SSLKEYLOGFILE, \
         with lines such as CLIENT_RANDOM or CLIENT_TRAFFIC_SECRET_0",
        path.display()
    )]
    NoSecrets {
        /// The file.
        path: PathBuf,
    },
}

/// The secrets of one session.
#[derive(Clone, Default)]
pub(super) struct Secrets {
    /// Up to TLS 1.2.
    pub master: Option<Arc<[u8]>>,
    /// From TLS 1.3 on: of the client and of the server.
    pub handshake: [Option<Arc<[u8]>>; 2],
    /// The same, for the data.
    pub traffic: [Option<Arc<[u8]>>; 2],
}

#[derive(Default)]
struct Inner {
    sessions: HashMap<Random, Secrets, RandomState>,
    files: Vec<Growing>,
}

/// A file that may be written to while it is read.
struct Growing {
    file: File,
    /// The start of a line whose end was not written yet.
    line: Vec<u8>,
}

/// It does not show the secrets.
impl fmt::Debug for KeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyLog({} sessions)", self.lock().sessions.len())
    }
}

impl KeyLog {
    /// Adds what a file holds.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that is not empty and holds no secret.
    pub fn read(&self, path: &Path) -> Result<(), InvalidKeyLog> {
        self.open(path).map(drop)
    }

    /// Adds what a file holds, now and later on.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn follow(&self, path: &Path) -> Result<(), InvalidKeyLog> {
        let growing = self.open(path)?;
        self.lock().files.push(growing);
        Ok(())
    }

    fn open(&self, path: &Path) -> Result<Growing, InvalidKeyLog> {
        let unreadable = |source| InvalidKeyLog::Unreadable { path: path.to_owned(), source };
        let file = File::open(path).map_err(unreadable)?;
        let mut inner = self.lock();
        let before = inner.sessions.len();
        let mut growing = Growing { file, line: Vec::new() };
        let read = growing.read(&mut inner.sessions).map_err(unreadable)?;
        if read > 0 && inner.sessions.len() == before {
            return Err(InvalidKeyLog::NoSecrets { path: path.to_owned() });
        }
        Ok(growing)
    }

    /// Adds the lines of a key log.
    pub fn add(&self, log: &[u8]) {
        let mut inner = self.lock();
        log.split(|&byte| byte == b'\n').for_each(|line| add(&mut inner.sessions, line));
    }

    /// True when no secret is known, and none can come.
    pub fn is_empty(&self) -> bool {
        let inner = self.lock();
        inner.sessions.is_empty() && inner.files.is_empty()
    }

    /// True when secrets that are not known now may be written later.
    pub(super) fn may_grow(&self) -> bool {
        !self.lock().files.is_empty()
    }

    /// The secrets of the session that began with this number, when they suffice.
    pub(super) fn find(&self, random: &Random, suffices: impl Fn(&Secrets) -> bool) -> Option<Secrets> {
        let mut inner = self.lock();
        let Inner { sessions, files } = &mut *inner;
        if !sessions.get(random).is_some_and(&suffices) {
            for file in files {
                // A file that cannot be read any more holds what was read of it.
                file.read(sessions).ok();
            }
        }
        sessions.get(random).filter(|secrets| suffices(secrets)).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Growing {
    /// Reads what was written since, and returns how many bytes it was.
    fn read(&mut self, sessions: &mut HashMap<Random, Secrets, RandomState>) -> io::Result<usize> {
        let read = self.file.read_to_end(&mut self.line)?;
        if let Some(end) = memchr::memrchr(b'\n', &self.line) {
            let rest = self.line.split_off(end + 1);
            self.line.split(|&byte| byte == b'\n').for_each(|line| add(sessions, line));
            self.line = rest;
        } else if read > 0 {
            // The last line of a file may have no end.
            add(sessions, &self.line);
        }
        Ok(read)
    }
}

/// Takes one line: a label, the client's random number and the secret. Others are comments, or secrets for other purposes.
fn add(sessions: &mut HashMap<Random, Secrets, RandomState>, line: &[u8]) {
    let mut words = line.trim_ascii().split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let (Some(label), Some(random), Some(secret)) = (words.next(), words.next(), words.next()) else { return };
    let (Some(random), Some(secret)) = (hexadecimal(random), hexadecimal(secret)) else { return };
    let Ok(random) = Random::try_from(random) else { return };
    if secret.is_empty() || secret.len() > 64 {
        return;
    }
    let place = |secrets: &mut Secrets| {
        let place = match label {
            b"CLIENT_RANDOM" => &mut secrets.master,
            b"CLIENT_HANDSHAKE_TRAFFIC_SECRET" => &mut secrets.handshake[0],
            b"SERVER_HANDSHAKE_TRAFFIC_SECRET" => &mut secrets.handshake[1],
            b"CLIENT_TRAFFIC_SECRET_0" => &mut secrets.traffic[0],
            b"SERVER_TRAFFIC_SECRET_0" => &mut secrets.traffic[1],
            _ => return,
        };
        *place = Some(secret.into());
    };
    let known = label == b"CLIENT_RANDOM" || label.ends_with(b"_TRAFFIC_SECRET") || label.ends_with(b"_SECRET_0");
    if known {
        place(sessions.entry(random).or_default());
    }
}

fn hexadecimal(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn line(label: &str, random: u8, secret: &str) -> String {
        format!("{label} {} {secret}\n", format!("{random:02x}").repeat(32))
    }

    #[test]
    fn lines_of_every_version_and_others() {
        let log = KeyLog::default();
        let text = [
            "# comment\r\n".to_owned(),
            line("CLIENT_RANDOM", 1, "0aFF"),
            line("CLIENT_HANDSHAKE_TRAFFIC_SECRET", 2, "01"),
            line("SERVER_HANDSHAKE_TRAFFIC_SECRET", 2, "02"),
            line("CLIENT_TRAFFIC_SECRET_0", 2, "03"),
            line("SERVER_TRAFFIC_SECRET_0", 2, "04").replace('\n', "\r\n"),
            line("EXPORTER_SECRET", 3, "05"),
            line("CLIENT_RANDOM", 4, "0"),
            "CLIENT_RANDOM abcd 00\nCLIENT_RANDOM\n\n".to_owned(),
        ];
        log.add(text.concat().as_bytes());
        assert_eq!(log.find(&[1; 32], |_| true).and_then(|secrets| secrets.master).as_deref(), Some(&[0x0a, 0xff][..]));
        let secrets = log.find(&[2; 32], |_| true).expect("known");
        let all = [&secrets.handshake[0], &secrets.handshake[1], &secrets.traffic[0], &secrets.traffic[1]];
        assert_eq!(all.map(|secret| secret.as_deref().map(|bytes| bytes[0])), [Some(1), Some(2), Some(3), Some(4)]);
        assert!(log.find(&[3; 32], |_| true).is_none() && log.find(&[4; 32], |_| true).is_none());
        assert!(log.find(&[2; 32], |secrets| secrets.master.is_some()).is_none(), "it does not suffice");
        assert_eq!(format!("{log:?}"), "KeyLog(2 sessions)");
    }

    #[test]
    fn a_file_is_read_on_when_it_has_grown() {
        let mut file = tempfile::NamedTempFile::new().expect("file");
        let log = KeyLog::default();
        log.follow(file.path()).expect("empty, and may grow");
        assert!(log.find(&[1; 32], |_| true).is_none());
        let whole = line("CLIENT_RANDOM", 1, "0aff");
        let (head, tail) = whole.split_at(40);
        for part in [head, tail] {
            assert!(log.find(&[1; 32], |_| true).is_none());
            file.write_all(part.as_bytes()).expect("writes");
        }
        assert!(log.find(&[1; 32], |_| true).is_some());
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        let mut file = tempfile::NamedTempFile::new().expect("file");
        file.write_all(b"-----BEGIN PRIVATE KEY-----\n").expect("writes");
        let error = KeyLog::default().read(file.path()).expect_err("no key log").to_string();
        assert!(error.contains("SSLKEYLOGFILE"), "{error}");
    }
}
