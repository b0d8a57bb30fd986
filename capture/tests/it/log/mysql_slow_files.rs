//! Third-party slow logs, and what is in them.
//!
//! Counted without our reader: entries by their line `# Query_time`, what a replica carries out by `[SQL_SLAVE]`, headers by
//! `started with:`, commands by `# administrator command`, sessions by the numbers behind `Thread_id:` and `Id:`, errors by
//! `Last_errno:` other than 0. Where a file has no numbers, the sessions are the connections that its durations need; the
//! comments say how many where that is more than one. A header is one entry of the server's, as is each of a replica's.

use splitproof_capture::trace::Loss;

use super::files::{File, file};

pub const FILES: &[File] = &[
    file("Percona-Lab-query-playback/basic-multiline.log", "query 1", 1, 0, &[(Loss::LogServer, 1)]),
    file("Percona-Lab-query-playback/basic-slow.log", "disconnect 1, query 16", 1, 0, &[]),
    file("Percona-Lab-query-playback/crashme-slow.log", "disconnect 2, query 103", 2, 23, &[(Loss::LogServer, 1)]),
    file("Percona-Lab-query-playback/preserve_query_time.log", "query 2", 1, 0, &[]),
    file("elastic-beats/mariadb-10.3.13.log", "query 1", 1, 0, &[(Loss::LogServer, 1)]),
    file("elastic-beats/percona-ubuntu-8.0.15.log", "query 2", 2, 0, &[(Loss::LogServer, 2)]),
    file("percona-go-mysql/mariadb102-with-explain.log", "query 1", 1, 0, &[(Loss::LogServer, 1)]),
    file("percona-go-mysql/mariadb108-with-tab.log", "query 1", 1, 0, &[(Loss::LogServer, 2)]),
    file("percona-go-mysql/slow001.log", "query 2", 1, 0, &[(Loss::LogServer, 1)]),
    file("percona-go-mysql/slow002.log", "", 0, 0, &[(Loss::LogServer, 8)]),
    file("percona-go-mysql/slow003.log", "", 0, 0, &[(Loss::LogServer, 1)]),
    file("percona-go-mysql/slow004.log", "query 1", 1, 0, &[(Loss::LogServer, 1)]),
    file("percona-go-mysql/slow005.log", "", 0, 0, &[(Loss::LogServer, 1)]),
    file("percona-go-mysql/slow006.log", "", 0, 0, &[(Loss::LogServer, 6)]),
    file("percona-go-mysql/slow007.log", "", 0, 0, &[(Loss::LogServer, 1)]),
    file("percona-go-mysql/slow008.log", "disconnect 1, query 2", 2, 0, &[]),
    file("percona-go-mysql/slow009.log", "disconnect 1, other 1", 1, 0, &[(Loss::LogServer, 1)]),
    file("percona-go-mysql/slow010.log", "", 0, 0, &[(Loss::LogServer, 36)]),
    file("percona-go-mysql/slow011.log", "query 3", 2, 0, &[]),
    file("percona-go-mysql/slow012.log", "disconnect 1, query 2", 2, 0, &[]),
    file("percona-go-mysql/slow013.log", "query 5", 5, 1, &[(Loss::LogServer, 25)]),
    file("percona-go-mysql/slow014.log", "query 4", 1, 0, &[]),
    file("percona-go-mysql/slow015.log", "query 2", 1, 0, &[]),
    // begins in the middle of an entry
    file("percona-go-mysql/slow016.log", "query 1", 1, 0, &[(Loss::LogTruncated, 1)]),
    // begins with the end of a statement
    file("percona-go-mysql/slow017.log", "query 1", 1, 0, &[(Loss::LogTruncated, 1)]),
    file("percona-go-mysql/slow018.log", "", 0, 0, &[(Loss::LogServer, 4)]),
    file("percona-go-mysql/slow019.log", "query 4", 2, 0, &[]),
    file("percona-go-mysql/slow020.log", "query 2", 1, 0, &[(Loss::LogServer, 1)]),
    file("percona-go-mysql/slow022.log", "query 1", 1, 0, &[(Loss::LogServer, 1)]),
    // two statements of two seconds that end in the same second, and one of nobody
    file("percona-go-mysql/slow024.log", "query 3", 3, 0, &[(Loss::LogServer, 1)]),
    // the second statement took 20 seconds and overlaps the first
    file("percona-go-mysql/slow025.log", "query 3", 2, 0, &[]),
    file("percona-go-mysql/slow027.log", "query 1", 1, 0, &[]),
    file("percona-percona-toolkit/empty", "", 0, 0, &[]),
    file("percona-percona-toolkit/microslow001.txt", "query 2", 1, 0, &[]),
    file("percona-percona-toolkit/mysql5.7.log", "query 2", 2, 0, &[(Loss::LogServer, 2)]),
    file("percona-percona-toolkit/slow001-rewritten.txt", "query 2", 1, 0, &[]),
    file("percona-percona-toolkit/slow001.txt", "query 2", 1, 0, &[(Loss::LogServer, 1)]),
    file("percona-percona-toolkit/slow002.txt", "", 0, 0, &[(Loss::LogServer, 8)]),
    file("percona-percona-toolkit/slow003.txt", "", 0, 0, &[(Loss::LogServer, 1)]),
    // not a slow log
    file("percona-percona-toolkit/slow006-session-1.txt", "", 0, 0, &[(Loss::LogMalformed, 1)]),
    // not a slow log
    file("percona-percona-toolkit/slow006-session-2.txt", "", 0, 0, &[(Loss::LogMalformed, 1)]),
    // not a slow log
    file("percona-percona-toolkit/slow006-session-3.txt", "", 0, 0, &[(Loss::LogMalformed, 1)]),
    file("percona-percona-toolkit/slow007.txt", "", 0, 0, &[(Loss::LogServer, 1)]),
    // the number 1000 comes twice
    file("percona-percona-toolkit/slow009.txt", "query 2001", 2000, 0, &[]),
    file("percona-percona-toolkit/slow010.txt", "query 1", 1, 0, &[]),
    file("percona-percona-toolkit/slow011.txt", "disconnect 2, query 2", 4, 0, &[]),
    file("percona-percona-toolkit/slow012.txt", "query 2", 1, 0, &[]),
    // two statements of two seconds that end in the same second
    file("percona-percona-toolkit/slow014.txt", "query 2", 2, 0, &[(Loss::LogServer, 5)]),
    // ends in the middle of an entry
    file("percona-percona-toolkit/slow015.txt", "", 0, 0, &[(Loss::LogTruncated, 1)]),
    file("percona-percona-toolkit/slow017.txt", "query 1", 1, 0, &[]),
    file("percona-percona-toolkit/slow020.txt", "query 3", 1, 0, &[]),
    // the first entry has no time, and is taken for one of the second after it; both took two seconds
    file("percona-percona-toolkit/slow021.txt", "query 2", 2, 0, &[(Loss::LogServer, 1)]),
    file("percona-percona-toolkit/slow023.txt", "query 1", 1, 0, &[]),
    // four statements of two seconds that end in the same second
    file("percona-percona-toolkit/slow024.txt", "query 4", 4, 0, &[]),
    file("percona-percona-toolkit/slow025.txt", "query 1", 1, 0, &[]),
    file("percona-percona-toolkit/slow026.txt", "disconnect 1, other 1", 1, 0, &[(Loss::LogServer, 1)]),
    file("percona-percona-toolkit/slow027.txt", "query 1", 1, 0, &[]),
    file("percona-percona-toolkit/slow029.txt", "query 3", 3, 0, &[]),
    file("percona-percona-toolkit/slow030.txt", "query 181", 1, 0, &[]),
    // a replica
    file("percona-percona-toolkit/slow032-rewritten.txt", "", 0, 0, &[(Loss::LogServer, 1)]),
    file("percona-percona-toolkit/slow032.txt", "", 0, 0, &[(Loss::LogServer, 1)]),
    file("percona-percona-toolkit/slow033.txt", "", 0, 0, &[(Loss::LogServer, 6)]),
    file("percona-percona-toolkit/slow036.txt", "query 1", 1, 0, &[]),
    file("percona-percona-toolkit/slow037.txt", "query 1", 1, 0, &[]),
    file("percona-percona-toolkit/slow038.txt", "", 0, 0, &[(Loss::LogServer, 9)]),
    file("percona-percona-toolkit/slow039.txt.gz", "query 1", 1, 0, &[]),
    file("percona-percona-toolkit/slow040.txt.gz", "query 1", 1, 0, &[]),
    // begins with the end of an entry
    file("percona-percona-toolkit/slow041.txt", "disconnect 1, query 1", 1, 0, &[(Loss::LogTruncated, 1)]),
    // from three hosts
    file("percona-percona-toolkit/slow042.txt", "query 3", 3, 0, &[]),
    file("percona-percona-toolkit/slow043.txt", "query 1", 1, 0, &[]),
    file("percona-percona-toolkit/slow044.txt", "query 2", 1, 2, &[]),
    file("percona-percona-toolkit/slow045.txt", "query 2", 1, 0, &[]),
    file("percona-percona-toolkit/slow047.txt", "query 1", 1, 0, &[]),
    // ten statements of 10, 300 or 500 seconds, of which only the second could wait for the first
    file("percona-percona-toolkit/slow049.txt", "query 10", 9, 0, &[]),
    file("percona-percona-toolkit/slow050.txt", "query 1", 1, 0, &[]),
    file("percona-percona-toolkit/slow051.txt", "query 2", 1, 0, &[]),
    file("percona-percona-toolkit/slow052.txt", "query 200", 1, 0, &[]),
    file("percona-percona-toolkit/slow053.txt", "query 10", 1, 0, &[]),
    file("percona-percona-toolkit/slow054.txt", "query 8", 1, 0, &[]),
    file("percona-percona-toolkit/slow057.txt", "disconnect 2, query 2", 4, 0, &[]),
    file("percona-percona-toolkit/slow059.txt", "query 3", 2, 0, &[]),
    file("percona-percona-toolkit/slow060.txt", "query 1", 1, 0, &[(Loss::LogServer, 1)]),
    file("percona-percona-toolkit/slowlogwriter001.txt", "query 1", 1, 0, &[]),
    file("percona-percona-toolkit/slowlogwriter002.txt", "query 1", 1, 0, &[]),
];
