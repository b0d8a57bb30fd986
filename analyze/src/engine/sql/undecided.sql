-- Requests that could not be judged, by shape and why, with the first one of each.
SELECT shape, why, count(*) AS requests,
       $example
  FROM (SELECT *, CASE WHEN destination = 'unseen' THEN 'unseen'
                       WHEN destination = 'ambiguous' THEN 'ambiguous'
                       WHEN staleness = 'unknown' THEN 'staleness' END AS why
          FROM $run)
 WHERE why IS NOT NULL
 GROUP BY shape, why
 ORDER BY requests DESC, shape, why
