package view

// Entry is an entry of the menu.
type Entry struct {
	// Path and Name are those of a page.
	Path, Name string
}

// Navigation is the menu for a person who operates, or who only looks.
func Navigation(operates bool) []Entry {
	list := []Entry{{"", "Overview"}, {"search", "Dead letters"}, {"redrives", "Redrives"}, {"consumers", "Consumers"}}
	if operates {
		list = append(list, Entry{"backlog", "Backlog"})
	}
	list = append(list, Entry{"steps", "Steps"}, Entry{"outbox", "Outbox"})
	if operates {
		list = append(list, Entry{"inbox", "Inbox"})
	}
	return append(list, Entry{"audit", "Audit"})
}
