-- The time in microseconds since 1970. SQLite's clock counts whole milliseconds. Tests
-- change the shift, to have time go by.
(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + (SELECT c.shift_us FROM {{schema}}.headrace_clock AS c WHERE c.id = 1))
