-- All changes are in the letters that are counted.
DELETE FROM {{schema}}.headrace_letter_changes
