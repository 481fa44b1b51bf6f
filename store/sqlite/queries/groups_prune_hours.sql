-- Hours that are old.
DELETE FROM {{schema}}.headrace_group_hours WHERE hour < (SELECT {{now}}) - 35 * 86400000000
