first_value(session ORDER BY start_ns, session, seq) AS session,
       first_value(seq ORDER BY start_ns, session, seq) AS seq,
       first_value(recorded_session ORDER BY start_ns, session, seq) AS recorded_session,
       first_value(recorded_seq ORDER BY start_ns, session, seq) AS recorded_seq,
       first_value(start_ns ORDER BY start_ns, session, seq) AS start_ns,
       first_value(sql ORDER BY start_ns, session, seq) AS sql,
       first_value(nodes ORDER BY start_ns, session, seq) AS nodes,
       first_value(error_code ORDER BY start_ns, session, seq) AS error_code
