//! Any order of finishing and any flush points give start order, with few files open.

use proptest::prelude::*;
use splitproof_capture::trace::{Engine, Kind, Losses, Options, Reader, Request, Sink, Writer};

fn write(dir: &std::path::Path, flush_rows: usize, requests: impl IntoIterator<Item = Request>) {
    let options = Options { flush_rows, ..Options::new(Engine::Postgresql, "packets") };
    let mut writer = Writer::create(dir, options).expect("creates");
    requests.into_iter().for_each(|request| writer.request(request));
    writer.finish(&Losses::default()).expect("finishes");
}

/// The keys of a trace as it is read, and the most files that were open at a time.
fn read(dir: &std::path::Path) -> (Vec<(i64, u64, u32)>, usize) {
    let mut requests = Reader::open(dir).expect("opens").requests();
    let mut keys = Vec::new();
    let mut open = 0;
    while let Some(request) = requests.next() {
        let request = request.expect("reads");
        keys.push((request.start_ns, request.session, request.seq));
        open = open.max(requests.open_files());
    }
    (keys, open)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_finish_order_is_read_in_start_order(
        starts in proptest::collection::vec((0_i64..60, 0_u64..3), 0..120),
        flush_rows in 1_usize..40,
    ) {
        let dir = tempfile::tempdir().expect("directory");
        let keys = starts.iter().zip(0..).map(|(&(start, session), seq)| (start, session, seq));
        let mut keys: Vec<(i64, u64, u32)> = keys.collect();
        write(dir.path(), flush_rows, keys.iter().map(|&(start, session, seq)| Request::new(session, seq, start, Kind::Query)));
        keys.sort_unstable();
        prop_assert_eq!(read(dir.path()).0, keys);
    }
}

/// Sessions that each ask one thing after the other; every 50th request lasts for a large part of the trace.
#[test]
fn few_files_are_open_however_long_requests_overlap() {
    let dir = tempfile::tempdir().expect("directory");
    let mut requests = Vec::new();
    for session in 0..64_u64 {
        let mut clock = session as i64;
        let mut seq = 0;
        while clock < 40_000 {
            let lasts = if seq % 50 == session as u32 % 50 { 9_000 + 100 * session } else { 20 + session % 7 };
            requests.push(Request { duration_ns: Some(lasts), ..Request::new(session, seq, clock, Kind::Query) });
            clock += lasts as i64 + 1;
            seq += 1;
        }
    }
    requests.sort_by_key(|request| request.end_ns());
    let count = requests.len();
    write(dir.path(), 100, requests);
    let files = Reader::open(dir.path()).expect("opens").manifest().table.files.len();
    assert!(files > 80, "{files} files");
    let (keys, open) = read(dir.path());
    assert_eq!(keys.len(), count);
    assert!(keys.is_sorted());
    assert!(open <= 1, "{open} of {files} files were open at a time");
}

/// Groups too large to be read at once: each class of age may keep one open.
#[test]
fn large_groups_of_late_rows_stay_open_one_per_class() {
    let dir = tempfile::tempdir().expect("directory");
    // Two interleaved halves: the second half of each pair finishes 30 000 rows later.
    let (quick, slow) = (0..60_000_i64).partition::<Vec<_>, _>(|start| start % 2 == 0);
    let mut finished: Vec<(i64, i64)> = quick.into_iter().map(|start| (start, start)).collect();
    finished.extend(slow.into_iter().map(|start| (start + 15_000, start)));
    finished.sort_unstable();
    write(dir.path(), 5_000, finished.iter().map(|&(_, start)| Request::new(0, start as u32, start, Kind::Query)));
    let (keys, open) = read(dir.path());
    assert_eq!(keys.len(), 60_000);
    assert!(keys.is_sorted());
    assert!(open <= 6, "{open} files were open at a time");
}

#[test]
fn the_last_rows_are_divided_only_where_there_are_enough_for_two_files() {
    for (rows, files) in [(1_i64, 1), (16_383, 1), (16_384, 2), (20_001, 2)] {
        let dir = tempfile::tempdir().expect("directory");
        // The later half finishes first.
        let starts = (0..rows).map(|at| (at + rows / 2) % rows);
        write(dir.path(), 65_536, starts.map(|start| Request::new(start as u64 % 7, 0, start, Kind::Query)));
        let manifest = Reader::open(dir.path()).expect("opens").manifest().clone();
        let held: Vec<u64> =
            manifest.table.files.iter().map(|file| file.groups.iter().map(|group| group.rows).sum()).collect();
        assert_eq!((held.len(), held.iter().sum()), (files, rows as u64));
        assert!(held.iter().max() <= held.iter().min().map(|least| least + 1).as_ref(), "halves: {held:?}");
        assert_eq!(read(dir.path()).0.iter().map(|key| key.0).collect::<Vec<_>>(), (0..rows).collect::<Vec<_>>());
    }
}
