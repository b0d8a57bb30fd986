-- Reads of each shape whose staleness was judged.
SELECT shape, count(*) AS requests FROM $run WHERE staleness IS NOT NULL GROUP BY shape
