-- Reads that a replica may serve and only the primary served, with the first one of each shape.
SELECT shape, count(*) AS requests, CAST(sum(primary_ns) AS DOUBLE) AS primary_ns,
       first_value(session ORDER BY start_ns, session, seq) AS session,
       first_value(seq ORDER BY start_ns, session, seq) AS seq,
       first_value(recorded_session ORDER BY start_ns, session, seq) AS recorded_session,
       first_value(recorded_seq ORDER BY start_ns, session, seq) AS recorded_seq,
       first_value(start_ns ORDER BY start_ns, session, seq) AS start_ns,
       first_value(sql ORDER BY start_ns, session, seq) AS sql,
       first_value(nodes ORDER BY start_ns, session, seq) AS nodes,
       first_value(error_code ORDER BY start_ns, session, seq) AS error_code
  FROM $run
 WHERE intent = 'replica' AND NOT either AND destination = 'primary'
 GROUP BY shape
 ORDER BY primary_ns DESC NULLS LAST, shape
