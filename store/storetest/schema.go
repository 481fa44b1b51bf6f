package storetest

import "github.com/headrace/headrace/audit"

var schemaTests = []test{{name: "a new id replaces the old one", run: schemaID}}

func schemaID(b *bundle) {
	schema := b.Store.Operations().Schema
	first, err := schema.Check(b.ctx)
	b.must(err)
	again, err := schema.Check(b.ctx)
	b.must(err)
	renewed, err := schema.NewID(b.ctx, "ann")
	b.must(err)
	now, err := schema.Check(b.ctx)
	b.must(err)
	b.wantAudit(audit.Database, now, "new-id ann: it was "+first)
	if len(first) < 32 || again != first || renewed == first || now != renewed {
		b.Errorf("%q, %q, renewed %q, %q", first, again, renewed, now)
	}
}
