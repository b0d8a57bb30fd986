-- The busiest second of the primary: alone; with all movable reads that replicas served; and with those of each route. A statement
-- counts for the second in which it began, so that a long one can count for more than it was.
WITH routed AS ($routed),
     seconds AS (SELECT start_ns / 1000000000 AS moment, CAST(sum(work_ns) AS DOUBLE) / 1e9 AS busy,
                        CAST(coalesce(sum(replica_ns) FILTER (WHERE movable), 0) AS DOUBLE) / 1e9 AS back
                   FROM routed GROUP BY start_ns / 1000000000),
     parts AS (SELECT name, verb, tagged, start_ns / 1000000000 AS moment,
                      CAST(coalesce(sum(replica_ns) FILTER (WHERE movable), 0) AS DOUBLE) / 1e9 AS back
                 FROM routed WHERE name IS NOT NULL GROUP BY name, verb, tagged, start_ns / 1000000000)
SELECT CAST(NULL AS VARCHAR) AS name, CAST(NULL AS VARCHAR) AS verb, false AS tagged,
       max(busy) AS peak, max(busy + back) AS peak_with FROM seconds
UNION ALL
SELECT p.name AS name, p.verb AS verb, p.tagged AS tagged, max(s.busy) AS peak, max(s.busy + p.back) AS peak_with
  FROM parts p JOIN seconds s ON p.moment = s.moment GROUP BY p.name, p.verb, p.tagged
