-- As before a restore of data. The trigger is made again at the next migration only.
DROP TRIGGER headrace_letters_inserted
