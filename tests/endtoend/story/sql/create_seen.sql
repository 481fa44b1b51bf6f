-- Which messages stand in headrace's tables or in flight, by what their bytes say.
CREATE TEMPORARY TABLE orders_seen (
    place  text NOT NULL, -- 'applied' under an edit, 'dead' or 'waiting'
    intent text NOT NULL,
    fact   text NOT NULL
)
