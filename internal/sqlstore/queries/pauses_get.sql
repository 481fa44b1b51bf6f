-- Every process of a consumer looks each second: by primary key.
SELECT consumer, by_whom, reason, at, resumed_by, resumed_at FROM {{schema}}.headrace_pauses WHERE consumer = $1
