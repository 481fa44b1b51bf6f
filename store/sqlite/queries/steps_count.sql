-- How many steps of the scopes that start with $1 need a person, were skipped, or have had
-- no known outcome for longer than $2 µs.
SELECT s.state, count(*)
FROM {{schema}}.headrace_steps AS s
WHERE s.state IN ('pending', 'parked', 'skipped', 'awaiting') AND substr(s.scope, 1, length($1)) = $1
    AND (s.state <> 'pending' OR s.changed_at <= {{now}} - $2)
GROUP BY s.state
