-- Hours that are old.
DELETE FROM {{schema}}.headrace_group_hours WHERE hour < {{now}} - interval '35 days'
