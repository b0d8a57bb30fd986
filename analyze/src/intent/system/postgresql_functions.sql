-- Prints postgresql_functions.txt. Run against a fresh cluster of the version wanted:
--
--     psql -XAtq -f postgresql_functions.sql > postgresql_functions.txt
--
-- One line per volatility (i immutable, s stable, v volatile) with the names of the functions whose worst overload
-- has it.

SELECT '# PostgreSQL ' || current_setting('server_version_num')::int / 10000
    || ', pg_catalog and information_schema, by the worst overload; made by postgresql_functions.sql';

SELECT volatility || ' ' || string_agg(name, ' ' ORDER BY name COLLATE "C")
FROM (
    SELECT p.proname::text AS name,
           CASE WHEN bool_or(p.provolatile = 'v') THEN 'v' WHEN bool_or(p.provolatile = 's') THEN 's' ELSE 'i' END
               AS volatility
    FROM pg_proc p
    JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname IN ('pg_catalog', 'information_schema')
    GROUP BY 1
) AS worst
GROUP BY volatility
ORDER BY volatility;
