package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/inspect"
)

// editFlags say what an edit changes. - reads stdin.
type editFlags struct {
	file, patch     string
	headers         []string
	without         []string
	yes             bool
	request         instance.Request
	stdin, fromFile bool
}

func (m *Main) editCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "edit ID --reason WHY", Short: "change what a dead letter says, for its redrive", Args: one("ID"),
		Long: `Changes the content of an open letter. A redrive then sends the edited message. The letter also keeps
the original bytes. The content comes from a file, from a patch (RFC 6902 or RFC 7386), or from $EDITOR.
A process of the consumer checks it with the handler's key function. If the edit would change the key,
it is refused. A conflict cannot be edited. Exit status 5 if nothing was changed.`,
		Example: "  headrace dlq edit 187 --reason 'wrong currency, INC-412'\n  headrace dlq edit 187 --patch - --reason INC-412 --yes <<< '{\"currency\":\"EUR\"}'",
	}
	var e editFlags
	c.Flags().StringVar(&e.file, "file", "", "the new payload, of a file (- for stdin)")
	c.Flags().StringVar(&e.patch, "patch", "", "a patch of the payload, of a file (- for stdin): a JSON array is RFC 6902, an object RFC 7386")
	c.Flags().StringArrayVar(&e.headers, "header", nil, "set a header, as `name=value`")
	c.Flags().StringArrayVar(&e.without, "without-header", nil, "remove a header, by its `name`")
	m.writes(c)
	yesFlag(c, &e.yes)
	c.Flags().StringVar(&e.request.By, "by", "", "who decides, for the audit trail (default: your user name)")
	c.Flags().StringVar(&e.request.Reason, "reason", "", "why, for the audit trail")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		id, ok := parseID(args[0])
		if !ok {
			return notID(args[0])
		}
		e.stdin, e.fromFile = e.file == "-" || e.patch == "-", e.file != "" || e.patch != "" || len(e.headers)+len(e.without) > 0
		switch {
		case strings.TrimSpace(e.request.Reason) == "":
			return usagef("edit: say why with --reason")
		case e.file != "" && e.patch != "":
			return usagef("edit: --file or --patch, not both")
		case !e.fromFile && !m.Terminal(m.Stdin):
			return usagef("edit: stdin is no terminal for $EDITOR: give --file, --patch or --header")
		}
		if err := m.mayAsk(e.yes, e.stdin); err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error { return m.edit(ctx, st, &e, id) })
	})
	return c
}

// editView is an edit as JSON.
type editView struct {
	editing.Edited
	Changes []string `json:"changes"`
}

func (m *Main) edit(ctx context.Context, st openStore, e *editFlags, id int64) error {
	l, err := st.Letters().Get(ctx, id)
	if err != nil {
		return err
	}
	d := l.Message()
	before := dlq.Content{Payload: d.Payload, Metadata: d.Metadata}
	after, err := m.content(ctx, e, id, before)
	if err != nil {
		return err
	}
	changes := inspect.Difference(before, after)
	if len(changes) == 0 {
		return fmt.Errorf("%w: the content is the same", errRefused)
	}
	if !e.yes && !m.dryRun {
		for _, line := range changes {
			m.say("  %s", line)
		}
		if err := m.confirm(false, "edit letter %d?", id); err != nil {
			return err
		}
	}
	r := e.request
	r.Kind, r.Consumer, r.By = editing.EditKind, l.Consumer, operator(r.By)
	a, err := ask[editing.Edited](ctx, m, st, r, editing.Edit{LetterID: id, Rev: l.Rev, Payload: after.Payload, Metadata: after.Metadata, DryRun: m.dryRun}, instance.Valid)
	if err != nil {
		return err
	}
	if m.json() {
		err = m.emitJSON("", editView{a, changes})
	} else {
		err = m.printEdit(a, changes)
	}
	if err == nil {
		m.afterEdit(a)
	}
	return err
}

func (m *Main) printEdit(a editing.Edited, changes []string) error {
	has := "has"
	if a.DryRun {
		has = "would have"
	}
	if err := m.line("letter %d %s rev %d, key %s", a.LetterID, has, a.Rev, text(a.Key)); err != nil {
		return err
	}
	for _, line := range changes {
		if err := m.line("  %s", line); err != nil {
			return err
		}
	}
	return nil
}

// afterEdit says what there is to know about an edit, and what comes next.
func (m *Main) afterEdit(a editing.Edited) {
	for _, line := range a.Says() {
		m.say("%s", line)
	}
	switch {
	case a.DryRun:
	case a.Key == "":
		m.next("dlq redrive %d --new-key KEY --reason WHY", a.LetterID)
	case a.Rehearsable:
		m.next("dlq rehearse %d", a.LetterID)
	default:
		m.next("dlq redrive %d --reason WHY", a.LetterID)
	}
}

// content returns the new content of a letter.
func (m *Main) content(ctx context.Context, e *editFlags, id int64, before dlq.Content) (after dlq.Content, err error) {
	after = dlq.Content{Payload: before.Payload, Metadata: maps.Clone(before.Metadata)}
	if after.Metadata == nil {
		after.Metadata = make(map[string]string)
	}
	for _, name := range e.without {
		if _, ok := after.Metadata[name]; !ok {
			return after, usagef("edit: letter %d has no header %q", id, name)
		}
		delete(after.Metadata, name)
	}
	for _, header := range e.headers {
		name, value, ok := strings.Cut(header, "=")
		if !ok || name == "" {
			return after, wrong("header", header, "it must be name=value")
		}
		after.Metadata[name] = value
	}
	switch {
	case e.file != "":
		after.Payload, err = m.read(e.file)
	case e.patch != "":
		var text []byte
		if text, err = m.read(e.patch); err == nil {
			after.Payload, err = patch(before.Payload, text)
		}
	case !e.fromFile:
		after.Payload, err = m.editor(ctx, id, before.Payload)
	}
	return after, err
}

func (m *Main) read(file string) ([]byte, error) {
	if file == "-" {
		text, err := io.ReadAll(m.Stdin)
		return append([]byte{}, text...), err
	}
	return os.ReadFile(file)
}

// patch applies a patch in one of the two forms.
func patch(payload, text []byte) ([]byte, error) {
	if !json.Valid(payload) {
		return nil, usagef("edit: the payload is no JSON: give --file")
	}
	switch text = bytes.TrimSpace(text); {
	case bytes.HasPrefix(text, []byte("[")):
		steps, err := jsonpatch.DecodePatch(text)
		if err != nil {
			return nil, usagef("edit: the patch is not of RFC 6902: %v", err)
		}
		o := jsonpatch.NewApplyOptions()
		o.EscapeHTML = false
		payload, err = steps.ApplyWithOptions(payload, o)
		if err != nil {
			return nil, fmt.Errorf("apply the patch: %w", err)
		}
		return payload, nil
	case bytes.HasPrefix(text, []byte("{")):
		payload, err := jsonpatch.MergePatch(payload, text)
		if err != nil {
			return nil, usagef("edit: the patch is not of RFC 7386: %v", err)
		}
		return payload, nil
	}
	return nil, usagef("edit: a patch is a JSON array (RFC 6902) or object (RFC 7386)")
}

// editor has a person edit the payload. A line's end that the editor adds is taken away again.
func (m *Main) editor(ctx context.Context, id int64, payload []byte) (edited []byte, err error) {
	if !utf8.Valid(payload) {
		return nil, usagef("edit: the payload is no text: give --file")
	}
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		return nil, fmt.Errorf("make a scratch file: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, fmt.Sprintf("letter-%d", id))
	if err := os.WriteFile(file, payload, 0o600); err != nil {
		return nil, fmt.Errorf("write a scratch file: %w", err)
	}
	editor := m.Getenv("VISUAL")
	if editor == "" {
		editor = m.Getenv("EDITOR")
	}
	if editor == "" {
		return nil, usagef("edit: $EDITOR is not set: give --file or --patch")
	}
	m.flush()
	run := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file)
	run.Stdout, run.Stderr = m.Stdout, m.Stderr
	if f, ok := m.Stdin.(*os.File); ok { // else it would be read to its end, for the editor
		run.Stdin = f
	}
	if err := run.Run(); err != nil {
		return nil, fmt.Errorf("%w: the editor ended with %w", errRefused, err)
	}
	if edited, err = os.ReadFile(file); err != nil {
		return nil, fmt.Errorf("read the scratch file: %w", err)
	}
	if !bytes.HasSuffix(payload, []byte("\n")) {
		edited = bytes.TrimSuffix(edited, []byte("\n"))
	}
	if payload == nil && len(edited) == 0 {
		return nil, nil
	}
	return edited, nil
}
