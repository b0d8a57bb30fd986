//! Any bytes as a capture file: every packet and every byte of payload is used or counted, and nothing panics. The first byte
//! chooses the format's beginning, so that the fuzzer need not find it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use splitproof_capture::packets::{Assembler, Control, Limits, Source, sessions};
use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Engine, Loss, Request};

/// Little end first: microseconds, Ethernet.
const PCAP: &[u8] = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0";

/// A section and an interface of Ethernet.
const PCAPNG: &[u8] = b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0\
                        \x01\0\0\0\x14\0\0\0\x01\0\0\0\0\0\0\0\x14\0\0\0";

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    let start: &[u8] = match first % 3 {
        0 => PCAP,
        1 => PCAPNG,
        _ => b"",
    };
    // A source reads files; this one is in memory where /tmp or /dev/shm is.
    let dir = if std::path::Path::new("/dev/shm").is_dir() { "/dev/shm" } else { "/tmp" };
    let path = std::path::PathBuf::from(format!("{dir}/splitproof-fuzz-{}", std::process::id()));
    std::fs::write(&path, [start, rest].concat()).expect("can write");
    for &engine in Engine::ALL {
        let shared = Shared::new(engine);
        let mut assembler = Assembler::new(Default::default(), Limits::default(), sessions(shared));
        let mut out: Vec<Request> = Vec::new();
        let ended = Source::Files(vec![path.clone()]).run(&mut assembler, &mut out, Control::default());
        assembler.finish(&mut out);
        let losses = assembler.losses();
        let lost = losses.iter().filter(|(loss, _)| loss.unit() == "packets" && *loss != Loss::KernelDropped);
        let statistics = assembler.statistics();
        assert_eq!(statistics.packets, statistics.used + lost.map(|(_, packets)| packets).sum::<u64>());
        assert_eq!(statistics.contradiction(), None);
        if first % 3 == 0 && ended.is_ok() {
            let passed = losses.get(Loss::TruncatedFile) + losses.get(Loss::DamagedFile);
            assert_eq!(24 + 16 * statistics.packets + statistics.bytes + passed, (start.len() + rest.len()) as u64);
        }
    }
});
