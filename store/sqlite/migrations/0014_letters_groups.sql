-- The groups of open letters, to be counted without a look at the letters.
CREATE INDEX {{schema}}.headrace_dead_letters_groups ON headrace_dead_letters (consumer, class, error_print, handler) WHERE state = 'open';
