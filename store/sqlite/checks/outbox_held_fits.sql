-- A held event has what its reason asks for: a time if it is delayed or in backoff, an
-- order key if it is behind another.
SELECT count(*), COALESCE(CAST(min(h.id) AS TEXT), '')
FROM {{schema}}.headrace_outbox_held AS h
WHERE (h.reason IN ('delayed', 'backoff')) <> (h.due_at IS NOT NULL) OR h.reason = 'behind' AND h.order_key = ''
