-- Shapes that may answer differently each time.
SELECT shape, min(varies) AS why, count(*) AS requests,
       count(*) FILTER (WHERE verdict = 'varies') AS differ
  FROM ($verdicts)
 WHERE varies IS NOT NULL
 GROUP BY shape
 ORDER BY differ DESC, requests DESC, shape
