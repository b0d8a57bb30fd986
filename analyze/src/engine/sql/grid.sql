-- Where requests belong against where they ran.
SELECT shape, intent, destination, count(*) AS requests
  FROM $run
 WHERE intent IS NOT NULL AND destination IS NOT NULL
 GROUP BY shape, intent, destination
 ORDER BY shape, intent, destination
