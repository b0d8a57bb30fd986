-- Reads that a replica may serve and only the primary served, with the first one of each shape.
SELECT shape, count(*) AS requests, CAST(sum(primary_ns) AS DOUBLE) AS primary_ns,
       $example
  FROM $run
 WHERE intent = 'replica' AND NOT either AND destination = 'primary'
 GROUP BY shape
 ORDER BY primary_ns DESC NULLS LAST, shape
