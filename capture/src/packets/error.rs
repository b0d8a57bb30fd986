//! What can go wrong with a source of packets, and what to do about it.

use std::{io, path::PathBuf};

/// Why packets cannot be read. What was decoded before stays decoded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is not a capture.
    #[error("{}: not a capture file: {what}; give a pcap or pcapng file, as tcpdump -w writes it{hint}", path.display())]
    NotACapture {
        /// The file.
        path: PathBuf,
        /// What was found at its start.
        what: String,
        /// What to do, where the contents suggest something.
        hint: &'static str,
    },
    /// Two files are one capture.
    #[error(
        "{}: the same capture as {}; its requests may count twice: give it once",
        second.display(), first.display()
    )]
    Twice {
        /// The file that was given first.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// The packets are of a link type that is not decoded.
    #[error(
        "{source_name}: link type {link} is not decoded; record on an interface of one of these: {}",
        super::link::KNOWN
    )]
    UnknownLink {
        /// The file or the interface.
        source_name: String,
        /// Its link type by libpcap's name.
        link: String,
    },
    /// The file is damaged in its middle.
    #[error(
        "{}: damaged {}, after packet {packets}: {what}; what comes before was used; \
         copy the file again from where it was recorded, or record again",
        path.display(),
        offset.map_or_else(|| "at an unknown offset".to_owned(), |offset| format!("at byte {offset}"))
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Packets that could be read before.
        packets: u64,
        /// Where the record begins that cannot be read; `None` when the input is not a regular file.
        offset: Option<u64>,
        /// What is wrong there.
        what: String,
    },
    /// The interface cannot be captured from.
    #[error("interface {interface}: {what}; {remedy}")]
    Interface {
        /// The interface.
        interface: String,
        /// What libpcap says.
        what: String,
        /// What to do.
        remedy: String,
    },
}

impl Error {
    /// Unless packets of this link type can be decoded.
    pub(super) fn unless_known(link: pcap::Linktype, source_name: impl std::fmt::Display) -> Result<i32, Error> {
        if super::link::is_known(link.0) {
            return Ok(link.0);
        }
        let name = link.get_name().unwrap_or_else(|_| link.0.to_string());
        Err(Error::UnknownLink { source_name: source_name.to_string(), link: name })
    }
}
