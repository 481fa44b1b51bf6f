-- How many steps there are whose outcome is not known or needs a person.
SELECT s.state, count(*)
FROM {{schema}}.headrace_steps AS s
WHERE s.state IN ('pending', 'parked', 'skipped')
GROUP BY s.state
