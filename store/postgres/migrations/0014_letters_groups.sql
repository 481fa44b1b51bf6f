-- The groups of open letters, to be counted without a look at the letters: entries
-- that are equal share one key in the index, so that a million take 7 MB. Letters are
-- vacuumed early, since only then does the index alone tell what is there.
CREATE INDEX headrace_dead_letters_groups ON {{schema}}.headrace_dead_letters (consumer, class, error_print, handler) WHERE state = 'open';
ALTER TABLE {{schema}}.headrace_dead_letters
    SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02);
