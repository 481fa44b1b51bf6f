package view

// Entry is one of the menu.
type Entry struct {
	// Path is that of a page, and Name its name.
	Path, Name string
}

// Navigation is the menu of a person, who operates or looks only.
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
