-- Replica reads that missed a write, by shape and whose write it was, with the first one of each.
SELECT shape, own, same_client, count(*) AS requests,
       CAST(min(lag_ns) AS DOUBLE) AS lag_min_ns,
       CAST(approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY lag_ns) AS DOUBLE) AS lag_median_ns,
       CAST(max(lag_ns) AS DOUBLE) AS lag_max_ns,
       CAST(max(uncertainty_ns) AS DOUBLE) AS uncertainty_ns,
       bool_and(any_table) AS any_table,
       first_value(missed ORDER BY start_ns, session, seq) AS missed,
       $example
  FROM (SELECT * FROM $run WHERE staleness = 'stale')
 GROUP BY shape, own, same_client
 ORDER BY requests DESC, shape, own, same_client
