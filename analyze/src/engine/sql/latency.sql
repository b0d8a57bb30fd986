-- Durations as the clients saw them: by shape and nodes, by shape, and of all reads that a replica may serve.
SELECT shape, nodes, 'node' AS part, bool_and(coalesce(intent = 'replica', false)) AS read, count(*) AS requests,
       CAST(approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ns) AS DOUBLE) AS p50_ns,
       CAST(approx_percentile_cont(0.99) WITHIN GROUP (ORDER BY duration_ns) AS DOUBLE) AS p99_ns,
       CAST(max(duration_ns) AS DOUBLE) AS max_ns, CAST(sum(duration_ns) AS DOUBLE) AS total_ns
  FROM $run WHERE needed AND duration_ns IS NOT NULL AND nodes IS NOT NULL GROUP BY shape, nodes
UNION ALL
SELECT shape, CAST(NULL AS VARCHAR) AS nodes, 'shape' AS part, bool_and(coalesce(intent = 'replica', false)) AS read, count(*) AS requests,
       CAST(approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ns) AS DOUBLE) AS p50_ns,
       CAST(approx_percentile_cont(0.99) WITHIN GROUP (ORDER BY duration_ns) AS DOUBLE) AS p99_ns,
       CAST(max(duration_ns) AS DOUBLE) AS max_ns, CAST(sum(duration_ns) AS DOUBLE) AS total_ns
  FROM $run WHERE needed AND duration_ns IS NOT NULL GROUP BY shape
UNION ALL
SELECT CAST(NULL AS BIGINT) AS shape, CAST(NULL AS VARCHAR) AS nodes, 'reads' AS part, true AS read, count(*) AS requests,
       CAST(approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ns) AS DOUBLE) AS p50_ns,
       CAST(approx_percentile_cont(0.99) WITHIN GROUP (ORDER BY duration_ns) AS DOUBLE) AS p99_ns,
       CAST(max(duration_ns) AS DOUBLE) AS max_ns, CAST(sum(duration_ns) AS DOUBLE) AS total_ns
  FROM $run WHERE needed AND intent = 'replica' AND duration_ns IS NOT NULL
