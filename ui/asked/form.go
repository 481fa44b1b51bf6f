package asked

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/redriving"
	"github.com/headrace/headrace/ui/frame"
	"github.com/headrace/headrace/ui/who"
)

// Form is where a request was typed, and what.
type Form struct {
	// Path is that of its page, without a slash in front. Name is the last word of where it is sent.
	Path, Name string
	// Needs is the role for it.
	Needs who.Role
	// Fields are what was typed.
	Fields url.Values
}

// FormOf is the form of a request; its Path is "" if nothing was typed, its page is not known, or it is an edit, whose content a request does not keep.
func FormOf(q instance.Request) (f Form) {
	f = Form{Needs: who.Operator, Fields: url.Values{"reason": {q.Reason}}}
	var of struct {
		ID       int64   `json:"id"`
		LetterID int64   `json:"letter_id"`
		Letters  []int64 `json:"letter_ids"`
		Key      string  `json:"key"`
	}
	if q.Read(&of) != nil || string(q.Args) == "null" { // it has expired
		return Form{}
	}
	names := map[string]string{redriving.KindApply: "apply", redriving.KindPause: "pause", redriving.KindCancel: "cancel"}
	switch f.Name = names[q.Kind]; {
	case f.Name != "":
		f.Path = "r/" + strconv.FormatInt(of.ID, 10)
	case q.Kind == editing.RestoreKind && len(of.Letters) == 1:
		f.Name, f.Path = "restore", fmt.Sprint("l/", of.Letters[0])
	case q.Kind == editing.NewKeyKind:
		f.Name, f.Path, f.Needs = "newkey", fmt.Sprint("l/", of.LetterID, "/newkey"), who.Admin
		f.Fields.Set("key", of.Key)
	}
	return f
}

// Back is the form to which the page of d leads a person back; its Path is "" if it leads to none.
func (d *Request) Back(p who.Person) (f Form) {
	if d.Error == "" || d.By != p.Name {
		return f
	}
	if f = FormOf(d.Request); f.Path == "" || !p.Role.May(f.Needs) {
		return Form{}
	}
	return f
}

// Recall is what a person typed into the form of a request of theirs, if the address of r names that and is its page,
// below root; otherwise nil.
func Recall(ctx context.Context, requests instance.Requests, r *http.Request, root, person string) (*frame.Typed, error) {
	id, err := strconv.ParseInt(r.Form.Get("typed"), 10, 64)
	if err != nil {
		return nil, nil
	}
	q, _, found, err := requests.Get(ctx, id)
	if err != nil || !found || q.By != person {
		return nil, err
	}
	if f := FormOf(q); r.URL.Path == root+"/"+f.Path {
		return frame.TypedInto(f.Name, f.Fields), nil
	}
	return nil, nil
}
