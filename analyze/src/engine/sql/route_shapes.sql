-- What holds each route on the primary, with the first request of each shape.
SELECT name, verb, tagged, shape, count(*) AS requests, count(*) FILTER (WHERE changes) AS changing,
       first_value(reason ORDER BY start_ns, session, seq) AS reason,
       $example
  FROM ($routed)
 WHERE name IS NOT NULL AND NOT movable
 GROUP BY name, verb, tagged, shape
 ORDER BY requests DESC, shape
