-- How many steps are done, by headrace and by hand.
SELECT (SELECT count(*) FROM headrace_steps WHERE state = 'done'), (SELECT count(*) FROM bench_steps WHERE state = 'done')
