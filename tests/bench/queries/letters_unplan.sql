-- The lists of all redrives, so that the next plan finds none.
TRUNCATE headrace_redrive_letters, headrace_redrives
