package ui

import (
	"context"
	"net/http"

	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/ui/admin"
	"github.com/headrace/headrace/ui/read"
)

// What needs an admin has its form on a page of its own. onPage reads what the page shows, and calls do.
func onPage[F any](v *visit, reads func(context.Context, read.Reader, int64) (F, error), page, title, nav string, do func(f F, show present) error) error {
	id, err := v.number()
	if err != nil {
		return err
	}
	f, err := reads(v.ctx(), v.s.read, id)
	if err != nil {
		return err
	}
	return do(f, func(status int) error { return v.page(status, page, title, nav, f) })
}

// typed asks for what was typed into the form. What is refused, by wrong already if that is not "", stays there.
func typed(v *visit, f *admin.Form, wrong string, show present, r instance.Request, args any) error {
	now := f.Seen
	f.Seen = v.r.PostForm.Get("seen")
	f.Stale = f.Seen != now
	if stale, err := v.stale(now, show); stale || err != nil {
		return err
	}
	why, err := reason(v)
	switch {
	case f.Why != "":
		v.note = "Nothing was done."
		return show(http.StatusConflict)
	case wrong == "" && err != nil:
		wrong = err.Error()
	}
	if v.note = wrong; wrong != "" {
		return show(http.StatusBadRequest)
	}
	r.Reason = why
	return v.ask(r, args, instance.Valid, show)
}

func onEdit(v *visit, do func(f *admin.Edit, show present) error) error {
	return onPage(v, admin.ReadEdit, "edit", "Edit a letter", "search", do)
}

// openEditor shows what a letter says in a form, and the audit says so.
func openEditor(v *visit) error {
	return v.onLetter(seenLetter, func(d redrive.Detail, _ present) error {
		return onEdit(v, func(f *admin.Edit, show present) error {
			if f.Why == "" {
				if err := record(v, "reveal", d); err != nil {
					return err
				}
			}
			return show(http.StatusOK)
		})
	})
}

func editLetter(v *visit) error {
	return onEdit(v, func(f *admin.Edit, show present) error {
		args, wrong := f.Write(v.r.PostForm["payload"])
		return typed(v, &f.Form, wrong, show, instance.Request{Kind: editing.EditKind, Consumer: f.Letter.Consumer}, args)
	})
}

func onNewKey(v *visit, do func(f *admin.NewKey, show present) error) error {
	return onPage(v, admin.ReadNewKey, "newkey", "A new key", "search", do)
}

func newKeyPage(v *visit) error {
	return onNewKey(v, func(_ *admin.NewKey, show present) error { return show(http.StatusOK) })
}

func giveNewKey(v *visit) error {
	return onNewKey(v, func(f *admin.NewKey, show present) error {
		args, wrong := f.Write(v.r.PostForm.Get("key"), v.r.PostForm.Get("again"))
		return typed(v, &f.Form, wrong, show, instance.Request{Kind: editing.NewKeyKind, Consumer: f.Letter.Consumer}, args)
	})
}

func onCancel(v *visit, do func(f *admin.Cancel, show present) error) error {
	return onPage(v, admin.ReadCancel, "cancel", "Cancel a message", "backlog", do)
}

func cancelPage(v *visit) error {
	return onCancel(v, func(f *admin.Cancel, show present) error {
		if f.Row.RowID == 0 {
			return refuse(http.StatusNotFound, "There is no such message, or it does not wait any more.")
		}
		return show(http.StatusOK)
	})
}

func cancelMessage(v *visit) error {
	return onCancel(v, func(f *admin.Cancel, show present) error {
		return typed(v, &f.Form, "", show, instance.Request{Kind: intervene.CancelKind, Consumer: f.Row.Consumer}, f.Args())
	})
}
