-- A step that is done says how that became known, and so does one that a person must give its result. No other does.
SELECT count(*), COALESCE(min(s.scope || ' ' || s.key || ' ' || s.step), '')
FROM {{schema}}.headrace_steps AS s
WHERE s.state = 'done' AND s.via = '' OR s.state NOT IN ('done', 'parked') AND s.via <> ''
