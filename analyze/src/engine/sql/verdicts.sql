-- The two answers to every recorded request, with a verdict on each pair. The first condition that holds decides.
SELECT coalesce(c.shape, b.shape) AS shape,
       CASE
         WHEN b.outcome NOT IN ('ok', 'error') OR c.outcome NOT IN ('ok', 'error') THEN 'incomplete'
         WHEN b.outcome = 'error' AND c.outcome = 'error' AND b.error_code = c.error_code THEN 'equal'
         WHEN b.outcome = 'error' AND c.outcome = 'error' THEN 'error_differs'
         -- A constraint or a lock conflict can come from the order of the writes.
         WHEN (b.outcome = 'error' OR c.outcome = 'error')
              AND (length(coalesce(c.error_code, b.error_code)) = 5
                   AND substr(coalesce(c.error_code, b.error_code), 1, 2) IN ('23', '40')
                   -- MySQL and MariaDB: duplicate keys, foreign keys, lock waits, deadlocks, records that changed.
                   OR coalesce(c.error_code, b.error_code)
                      IN ('1020', '1062', '1205', '1213', '1216', '1217', '1451', '1452', '1586', '3572'))
              AND (b.history <> c.history OR b.concurrent OR c.concurrent) THEN 'error_race'
         WHEN c.outcome = 'error' THEN 'error_candidate'
         WHEN b.outcome = 'error' THEN 'error_baseline'
         WHEN b.answer = c.answer AND (b.affected IS NOT DISTINCT FROM c.affected) THEN 'equal'
         WHEN b.answer IS NULL AND c.answer IS NULL AND coalesce(b.row_count, 0) = 0 AND coalesce(c.row_count, 0) = 0
              AND (b.affected IS NOT DISTINCT FROM c.affected) THEN 'equal'
         WHEN (b.answer IS NULL OR c.answer IS NULL) AND (b.row_count IS NOT DISTINCT FROM c.row_count)
              AND (b.affected IS NOT DISTINCT FROM c.affected) THEN 'no_checksum'
         WHEN b.varies IS NOT NULL OR c.varies IS NOT NULL THEN 'varies'
         WHEN c.staleness = 'stale' AND c.row_count < b.row_count THEN 'missing_candidate'
         WHEN c.staleness = 'stale' THEN 'stale_candidate'
         WHEN b.staleness = 'stale' AND b.row_count < c.row_count THEN 'missing_baseline'
         WHEN b.staleness = 'stale' THEN 'stale_baseline'
         WHEN b.tainted IS NOT NULL OR c.tainted IS NOT NULL THEN 'tainted'
         WHEN b.history <> c.history THEN 'order'
         WHEN b.concurrent OR c.concurrent THEN 'concurrent'
         WHEN b.lacks_state AND NOT c.lacks_state THEN 'state_baseline'
         WHEN c.lacks_state THEN 'state_candidate'
         WHEN coalesce(b.destination, 'unseen') IN ('unseen', 'ambiguous')
              OR coalesce(c.destination, 'unseen') IN ('unseen', 'ambiguous') THEN 'unplaced'
         WHEN b.staleness = 'unknown' OR c.staleness = 'unknown' THEN 'undecided'
         WHEN b.unknown_writes OR c.unknown_writes THEN 'unknown_writes'
         ELSE 'mismatch'
       END AS verdict,
       coalesce(c.varies, b.varies) AS varies, coalesce(c.tainted, b.tainted) AS tainted,
       b.session AS b_session, b.seq AS b_seq, b.start_ns AS b_start_ns, b.sql AS b_sql, b.nodes AS b_nodes,
       b.error_code AS b_error_code, b.row_count AS b_row_count,
       c.session AS c_session, c.seq AS c_seq, c.start_ns AS c_start_ns, c.sql AS c_sql, c.nodes AS c_nodes,
       c.error_code AS c_error_code, c.row_count AS c_row_count,
       b.recorded_session AS recorded_session, b.recorded_seq AS recorded_seq
  FROM baseline b
  JOIN candidate c ON b.recorded_session = c.recorded_session AND b.recorded_seq = c.recorded_seq
 WHERE b.needed OR c.needed
