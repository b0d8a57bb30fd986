-- Pairs of answers by shape and verdict, with the first one of each.
SELECT shape, verdict, count(*) AS requests,
       first_value(b_session ORDER BY c_start_ns, recorded_session, recorded_seq) AS b_session,
       first_value(b_seq ORDER BY c_start_ns, recorded_session, recorded_seq) AS b_seq,
       first_value(b_start_ns ORDER BY c_start_ns, recorded_session, recorded_seq) AS b_start_ns,
       first_value(b_sql ORDER BY c_start_ns, recorded_session, recorded_seq) AS b_sql,
       first_value(b_nodes ORDER BY c_start_ns, recorded_session, recorded_seq) AS b_nodes,
       first_value(b_error_code ORDER BY c_start_ns, recorded_session, recorded_seq) AS b_error_code,
       first_value(b_row_count ORDER BY c_start_ns, recorded_session, recorded_seq) AS b_row_count,
       first_value(c_session ORDER BY c_start_ns, recorded_session, recorded_seq) AS c_session,
       first_value(c_seq ORDER BY c_start_ns, recorded_session, recorded_seq) AS c_seq,
       first_value(c_start_ns ORDER BY c_start_ns, recorded_session, recorded_seq) AS c_start_ns,
       first_value(c_sql ORDER BY c_start_ns, recorded_session, recorded_seq) AS c_sql,
       first_value(c_nodes ORDER BY c_start_ns, recorded_session, recorded_seq) AS c_nodes,
       first_value(c_error_code ORDER BY c_start_ns, recorded_session, recorded_seq) AS c_error_code,
       first_value(c_row_count ORDER BY c_start_ns, recorded_session, recorded_seq) AS c_row_count,
       first_value(recorded_session ORDER BY c_start_ns, recorded_session, recorded_seq) AS recorded_session,
       first_value(recorded_seq ORDER BY c_start_ns, recorded_session, recorded_seq) AS recorded_seq,
       first_value(varies ORDER BY c_start_ns, recorded_session, recorded_seq) AS varies,
       first_value(tainted ORDER BY c_start_ns, recorded_session, recorded_seq) AS tainted
  FROM ($verdicts)
 GROUP BY shape, verdict
 ORDER BY shape, verdict
