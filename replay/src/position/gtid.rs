//! The numbers in MySQL's and MariaDB's positions.
//!
//! <https://mariadb.com/kb/en/gtid/>, <https://dev.mysql.com/doc/refman/8.4/en/replication-gtids-concepts.html>

/// The sequence number in a position of MariaDB (`DOMAIN-SERVER-SEQUENCE`, one for each domain, separated by commas): that of
/// domain 0, or of the only domain.
pub fn mariadb_sequence(position: &str) -> Option<u64> {
    let mut only = None;
    let mut domains = 0;
    for gtid in position.split(',').map(str::trim).filter(|gtid| !gtid.is_empty()) {
        let mut parts = gtid.split('-');
        let (domain, _server) = (parts.next()?, parts.next()?);
        let sequence = parts.next()?.parse().ok()?;
        if domain == "0" {
            return Some(sequence);
        }
        (only, domains) = (Some(sequence), domains + 1);
    }
    only.filter(|_| domains == 1)
}

/// How far a set of MySQL (`UUID:1-5:7`, separated by commas) goes without a gap in the transactions of one server. What
/// lies beyond a gap was applied out of order, and does not tell that all before it was.
pub fn mysql_sequence(set: &str, server: &str) -> Option<u64> {
    set.split(',').map(str::trim).find_map(|part| {
        let (uuid, intervals) = part.split_once(':')?;
        if !uuid.eq_ignore_ascii_case(server) {
            return None;
        }
        // Since MySQL 8.3 a tag may stand before intervals of its own; those without one come first.
        let first = intervals.split(':').next()?;
        let last = first.split_once('-').map_or(first, |(_, last)| last);
        last.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_of_mariadb_counts_in_domain_0() {
        assert_eq!(mariadb_sequence("0-1-1234"), Some(1234));
        assert_eq!(mariadb_sequence("7-3-9,0-1-5"), Some(5));
        assert_eq!(mariadb_sequence("7-3-9"), Some(9));
        assert_eq!(mariadb_sequence("7-3-9,8-3-1"), None);
        for odd in ["", ",", "0", "0-1", "0-1-x", "0-1-99999999999999999999"] {
            assert_eq!(mariadb_sequence(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_set_of_mysql_counts_up_to_its_first_gap() {
        let a = "3E11FA47-71CA-11E1-9E33-C80AA9429562";
        assert_eq!(mysql_sequence("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5", a), Some(5));
        assert_eq!(mysql_sequence("aaaa:1-9,\n3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:8-11", a), Some(5));
        assert_eq!(mysql_sequence("3e11fa47-71ca-11e1-9e33-c80aa9429562:1", a), Some(1));
        for odd in ["", "aaaa:1-9", "3e11fa47-71ca-11e1-9e33-c80aa9429562", "3e11fa47-71ca-11e1-9e33-c80aa9429562:x"] {
            assert_eq!(mysql_sequence(odd, a), None, "{odd}");
        }
    }
}
