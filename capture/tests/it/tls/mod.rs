//! Sessions over TLS between a client and a server that are not ours: decrypted, and compared with what was sent and with
//! what tshark reads.
//!
//! - [`scene`]: a server with a certificate, Python's client, and a relay that keeps what passes
//! - the other files: scenarios by theme

mod decrypt;
mod live;
mod refused;
mod scene;
