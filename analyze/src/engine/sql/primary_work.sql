-- What the primary worked in all; in a recording, what clients waited.
SELECT CAST(sum(work_ns) AS DOUBLE) AS primary_ns FROM ($routed)
