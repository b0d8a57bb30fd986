-- What the run holds in all.
SELECT count(*) AS requests,
       count(DISTINCT session) AS sessions,
       count(DISTINCT shape) AS shapes,
       count(*) FILTER (WHERE outcome = 'error') AS errors,
       count(*) FILTER (WHERE outcome IN ('lost', 'unfinished')) AS incomplete,
       count(*) FILTER (WHERE late) AS late,
       count(*) FILTER (WHERE needed) AS needed,
       min(start_ns) AS begin_ns,
       max(start_ns + coalesce(duration_ns, 0)) AS end_ns,
       count(*) FILTER (WHERE intent = 'primary' AND destination IN ('replica', 'both') AND error_code IN ('25006', '1290', '1792', '1836'))
           AS read_only_errors,
       count(*) FILTER (WHERE intent = 'replica' AND NOT either AND destination IN ('primary', 'replica', 'both')) AS eligible,
       count(*) FILTER (WHERE intent = 'replica' AND NOT either AND destination = 'replica') AS eligible_on_replica,
       count(*) FILTER (WHERE staleness IS NOT NULL) AS replica_reads,
       count(*) FILTER (WHERE staleness = 'stale') AS stale,
       count(*) FILTER (WHERE staleness = 'stale' AND own) AS own_missed,
       count(*) FILTER (WHERE staleness = 'stale' AND same_client AND NOT own) AS client_missed,
       count(*) FILTER (WHERE staleness = 'unknown') AS staleness_unknown,
       max(lag_ns) AS max_lag_ns
  FROM $run
