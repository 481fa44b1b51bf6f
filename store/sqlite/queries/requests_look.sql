-- Every process of a consumer looks each second: by an index of those that may still be
-- taken.
SELECT EXISTS (
    SELECT 1 FROM {{schema}}.headrace_requests AS r
    WHERE r.state = 'waiting' AND r.consumer = $1 AND r.until > (SELECT {{now}})
        AND r.build IN ('', $2) AND r.host IN ('', $3) AND r.kind IN (SELECT k.value FROM json_each($4) AS k)
)
