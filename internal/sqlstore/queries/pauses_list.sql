-- The latest pause of each consumer.
SELECT consumer, by_whom, reason, at, resumed_by, resumed_at FROM {{schema}}.headrace_pauses ORDER BY consumer
