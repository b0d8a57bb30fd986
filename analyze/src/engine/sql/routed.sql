-- Every request that executes a statement, with its route: its own; that of its transaction, since BEGIN and COMMIT often carry none; its
-- application's. Names of routes and of applications are kept apart.
SELECT r.*,
       coalesce(r.route, t.route, r.application) AS name,
       coalesce(r.method, CASE WHEN r.route IS NULL THEN t.method END) AS verb,
       coalesce(r.route, t.route) IS NOT NULL AS tagged,
       -- In a recording nobody saw the nodes: what clients waited stands for the primary's work.
       CASE WHEN $measured THEN coalesce(r.primary_ns, 0) ELSE coalesce(r.duration_ns, 0) END AS work_ns
  FROM (SELECT * FROM $run WHERE needed) r
  LEFT JOIN (SELECT session, transaction_number,
                    first_value(route ORDER BY start_ns, seq) AS route, first_value(method ORDER BY start_ns, seq) AS method
               FROM $run WHERE needed AND route IS NOT NULL AND transaction_number IS NOT NULL
              GROUP BY session, transaction_number) t
    ON r.session = t.session AND r.transaction_number = t.transaction_number
