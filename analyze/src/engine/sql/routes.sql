-- What each route asks for, and who served it.
SELECT name, verb, tagged, count(*) AS calls,
       CAST(sum(duration_ns) AS DOUBLE) AS time_ns,
       count(*) FILTER (WHERE destination IN ('primary', 'both') OR NOT $measured) AS primary_calls,
       CAST(sum(work_ns) AS DOUBLE) AS primary_ns,
       CAST(sum(work_ns) FILTER (WHERE intent = 'replica' AND NOT either) AS DOUBLE) AS eligible_ns,
       count(*) FILTER (WHERE intent = 'replica' AND NOT either) AS eligible,
       count(*) FILTER (WHERE NOT movable) AS held,
       count(*) FILTER (WHERE changes) AS changing,
       count(*) FILTER (WHERE fresh_ns < 10000000) AS at_10, count(*) FILTER (WHERE own_fresh_ns < 10000000 AND NOT either) AS own_10,
       count(*) FILTER (WHERE fresh_ns < 100000000) AS at_100, count(*) FILTER (WHERE own_fresh_ns < 100000000 AND NOT either) AS own_100,
       count(*) FILTER (WHERE fresh_ns < 1000000000) AS at_1000, count(*) FILTER (WHERE own_fresh_ns < 1000000000 AND NOT either) AS own_1000,
       count(*) FILTER (WHERE fresh_ns < 10000000000) AS at_10000,
       count(*) FILTER (WHERE own_fresh_ns < 10000000000 AND NOT either) AS own_10000,
       count(*) FILTER (WHERE intent = 'replica' AND NOT either AND fresh_ns IS NULL) AS untouched,
       count(*) FILTER (WHERE served = 'old') AS served_old, count(*) FILTER (WHERE served = 'new') AS served_new,
       count(*) FILTER (WHERE served = 'fallback') AS served_fallback, count(*) FILTER (WHERE served = 'refused') AS served_refused,
       count(*) FILTER (WHERE served = 'unknown') AS served_unknown
  FROM (SELECT *, CASE WHEN coalesce(intent <> 'replica', true) OR either THEN NULL
                       -- Refused as read-only, cancelled by replay, no server for it, or the connection broke.
                       WHEN outcome = 'lost' OR outcome = 'error' AND error_code IN
                            ('25006', '57P01', '57P02', '57P03', '53300', '40001', '08000', '08001', '08003', '08006',
                             '1290', '1792', '1836', '1927', '2003', '2006', '2013', '9001') THEN 'refused'
                       WHEN destination = 'both' THEN 'fallback'
                       WHEN destination = 'replica' THEN 'new'
                       WHEN destination = 'primary' THEN 'old'
                       ELSE 'unknown' END AS served
          FROM ($routed))
 WHERE name IS NOT NULL
 GROUP BY name, verb, tagged
 ORDER BY primary_ns DESC, name, verb
