package storetest

// letterNext: from the letter that was redriven to the one of its message that came after.
func letterNext(b *bundle) {
	first, other := letter("a"), letter("b")
	ids := b.die(first, other)
	second := letter("c")
	second.PreviousID = ids[0]
	next := b.die(second)[0]
	for id, want := range map[int64]int64{ids[0]: next, ids[1]: 0, next: 0, 0: 0} {
		if got, err := b.Store.Letters().Next(b.ctx, id); err != nil || got != want {
			b.Errorf("after %d comes %d, %v; want %d", id, got, err, want)
		}
	}
}
