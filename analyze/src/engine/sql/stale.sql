-- Replica reads that missed a write, by shape and whose write it was, with the first one of each.
SELECT shape, own, count(*) AS requests,
       CAST(min(lag_ns) AS DOUBLE) AS lag_min_ns,
       CAST(approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY lag_ns) AS DOUBLE) AS lag_median_ns,
       CAST(max(lag_ns) AS DOUBLE) AS lag_max_ns,
       CAST(max(uncertainty_ns) AS DOUBLE) AS uncertainty_ns,
       bool_and(any_table) AS any_table,
       first_value(missed ORDER BY start_ns, session, seq) AS missed,
       first_value(session ORDER BY start_ns, session, seq) AS session,
       first_value(seq ORDER BY start_ns, session, seq) AS seq,
       first_value(recorded_session ORDER BY start_ns, session, seq) AS recorded_session,
       first_value(recorded_seq ORDER BY start_ns, session, seq) AS recorded_seq,
       first_value(start_ns ORDER BY start_ns, session, seq) AS start_ns,
       first_value(sql ORDER BY start_ns, session, seq) AS sql,
       first_value(nodes ORDER BY start_ns, session, seq) AS nodes,
       first_value(error_code ORDER BY start_ns, session, seq) AS error_code
  FROM $run
 WHERE staleness = 'stale'
 GROUP BY shape, own
 ORDER BY requests DESC, shape, own
