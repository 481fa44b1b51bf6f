SELECT key, items FROM lists
