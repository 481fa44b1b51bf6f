-- The time of the database. Tests replace the function, to have time go by.
{{schema}}.headrace_now()
