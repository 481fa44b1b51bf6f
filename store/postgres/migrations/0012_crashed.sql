-- A class of letters: the handler ended its process.
ALTER TABLE {{schema}}.headrace_dead_letters
    DROP CONSTRAINT headrace_dead_letters_class_check,
    ADD CONSTRAINT headrace_dead_letters_class_check
        CHECK (class IN ('exhausted', 'permanent', 'conflict', 'undecodable', 'crashed'));
