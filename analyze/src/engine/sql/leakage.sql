-- Requests that belong to the primary and ran on a replica, by error and nodes, with the first one of each.
SELECT shape, count(*) AS requests,
       first_value(reason ORDER BY start_ns, session, seq) AS reason,
       $example
  FROM $run
 WHERE intent = 'primary' AND destination IN ('replica', 'both')
 GROUP BY shape, nodes, error_code
 ORDER BY shape, start_ns
