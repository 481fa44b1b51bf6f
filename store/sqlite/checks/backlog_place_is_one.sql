-- No two rows that are ready, or wait to be leased, have one place.
SELECT count(*), COALESCE(CAST(min(p.place) AS TEXT), '')
FROM (
    SELECT place FROM {{schema}}.headrace_backlog WHERE status IN ('ready', 'leasable') GROUP BY place HAVING count(*) > 1
) AS p
