package jsontext

// Depth is the most brackets that are open at a time, those in strings included: that is never
// too few.
func Depth(b []byte) (most int) {
	open := 0
	for _, c := range b {
		switch c {
		case '{', '[':
			open++
			most = max(most, open)
		case '}', ']':
			open--
		}
	}
	return most
}
