-- Requests that could not be judged, by shape and why, with the first one of each.
SELECT shape, why, count(*) AS requests,
       first_value(session ORDER BY start_ns, session, seq) AS session,
       first_value(seq ORDER BY start_ns, session, seq) AS seq,
       first_value(recorded_session ORDER BY start_ns, session, seq) AS recorded_session,
       first_value(recorded_seq ORDER BY start_ns, session, seq) AS recorded_seq,
       first_value(start_ns ORDER BY start_ns, session, seq) AS start_ns,
       first_value(sql ORDER BY start_ns, session, seq) AS sql,
       first_value(nodes ORDER BY start_ns, session, seq) AS nodes,
       first_value(error_code ORDER BY start_ns, session, seq) AS error_code
  FROM (SELECT *, CASE WHEN destination = 'unseen' THEN 'unseen'
                       WHEN destination = 'ambiguous' THEN 'ambiguous'
                       WHEN staleness = 'unknown' THEN 'staleness' END AS why
          FROM $run)
 WHERE why IS NOT NULL
 GROUP BY shape, why
 ORDER BY requests DESC, shape, why
