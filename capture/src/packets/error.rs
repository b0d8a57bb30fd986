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
    /// The file is damaged in its middle. What comes before was used, and what comes after as far as it is sound.
    #[error(
        "{}: damaged at byte {offset}, after packet {packets}: {what}; {}{bytes} bytes were passed over; \
         copy the file again from where it was recorded, or record again",
        path.display(),
        if *places > 1 { format!("in {places} places ") } else { String::new() }
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Packets that could be read before.
        packets: u64,
        /// Where the first record begins that cannot be read; in the contents of a compressed file.
        offset: u64,
        /// What is wrong there.
        what: String,
        /// In how many places the file is damaged.
        places: u64,
        /// Bytes that were passed over in all of them; counted as lost.
        bytes: u64,
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
