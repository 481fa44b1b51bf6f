-- The ids of letters of a filter in a window, with what groups them, and with the contents of
-- their messages if those decide ($19). The window is of a source, as in letters_window.
SELECT l.id, l.error_fingerprint, l.consumer, l.handler, l.class, l.created_at,
    CASE WHEN $19 THEN l.payload END, CASE WHEN $19 THEN l.metadata END
FROM (
    {{letters_in_window}}
) AS l
WHERE {{letters_chosen}}
    AND {{letters_hold}}
