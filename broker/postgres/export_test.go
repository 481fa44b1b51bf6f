package postgres

// Statement returns a statement by the name of its file.
func Statement(schema, name string) (string, error) {
	all, err := load(schema)
	if err != nil {
		return "", err
	}
	return all.get(name), nil
}
