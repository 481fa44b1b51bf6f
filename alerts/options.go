package alerts

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"text/template"
	"time"
)

// Options limit how often alerts are sent. The zero value has the defaults that the
// fields name.
type Options struct {
	// Sinks receive alerts, each by itself: a failure of one delays no other. consumer.Config's
	// Alert is one more, named "hook".
	Sinks []Sink
	// URL is the address of the page (headrace ui): alerts then link to it. Default: no links.
	URL string
	// Texts has templates for the Title and the Text of alerts in place of ours, named "title" and
	// "text"; "slack/text" is that of the sink named slack. Their data is the Alert, in which no
	// payload, key or header is. One that fails, or says nothing, leaves ours. Default: ours.
	Texts *template.Template
	// ErrorText sends the text of errors, after consumer.Config's Redact. Without it numbers,
	// quoted words and addresses in it are replaced by #.
	ErrorText bool
	// Bounds say when conditions fire.
	Bounds Bounds
	// Quiet is the least time between two alerts of one group (see Alert.Group). The
	// first is sent at once, and those that follow within Quiet as one, with their count.
	// At least 1 s, at most 12 h. Default 5 min. Paused and Resumed end each other, and
	// so do RelayStalled and RelayResumed, SourceDown and SourceUp. If the opposite of the last one sent has lasted 5 s, it is sent within Quiet, if
	// PerMinute allows; if that happens again and again, after 1 min.
	Quiet time.Duration
	// PerMinute is how many alerts of dead letters a consumer sends in a minute at most,
	// over all its processes. It is also the limit for parked rows of a database, and for
	// a process's own alerts. What is more waits for the next minute, the severest first, and
	// is not told if it is over by then. The ends of what was told are not counted. Default 10.
	PerMinute int
}

// Validate returns an error that names the invalid field.
func (o Options) Validate() error {
	switch {
	case o.Quiet != 0 && (o.Quiet < time.Second || o.Quiet > 12*time.Hour):
		return fmt.Errorf("option Quiet (%s) is not from 1s to 12h: 0 gives the default", o.Quiet)
	case o.PerMinute < 0 || o.PerMinute > 1000:
		return fmt.Errorf("option PerMinute (%d) is not from 1 to 1000: 0 gives the default", o.PerMinute)
	}
	names := make(map[string]bool)
	for _, s := range o.Sinks {
		switch {
		case s == nil || s.Name() == "":
			return errors.New("option Sinks: a sink is nil, or has no name")
		case names[s.Name()]:
			return fmt.Errorf("option Sinks: two are called %.40q and cannot be told apart: give one of them another name, as Options.Name of package sinks", s.Name())
		}
		names[s.Name()] = true
	}
	if err := o.checkTexts(names); err != nil {
		return err
	}
	if u, err := url.Parse(o.URL); o.URL != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
		return errors.New("option URL is not an address of the web")
	}
	return o.Bounds.Validate()
}

// WithDefaults returns o with its zero fields filled.
func (o Options) WithDefaults() Options {
	o.Bounds = o.Bounds.WithDefaults()
	o.Quiet, o.PerMinute = cmp.Or(o.Quiet, 5*time.Minute), cmp.Or(o.PerMinute, 10)
	return o
}

// Bounds say when conditions fire. Zero fields mean the defaults that they name.
type Bounds struct {
	// Off are kinds of condition that never fire.
	Off []Kind
	// GroupLetters is how many dead letters of a group in 10 minutes make GroupFailing an Error.
	// Default 100.
	GroupLetters int64
	// LettersOld is the age of an open letter, of a group that is not muted. Default 24 h.
	LettersOld time.Duration
	// LettersExpire is the age of an open letter as a part of Retention.OpenLetters, where that
	// is set. Default 0.8.
	LettersExpire float64
	// BacklogLag is how long a row has been due, for 5 minutes. Default 5 min.
	BacklogLag time.Duration
	// OutboxLag is how long an event has been due, for 2 minutes. Default 1 min.
	OutboxLag time.Duration
	// WithoutOwner is for how long work has no owner. Default 10 min.
	WithoutOwner time.Duration
	// Absent is for how long no process of a consumer has beaten. Default 1 min.
	Absent time.Duration
	// Crashes is how many unexpected ends of a consumer within 10 minutes are too many.
	// Default 3.
	Crashes int
	// Pause is the age of a pause that a person may have forgotten. Default 1 h.
	Pause time.Duration
	// Stalled is for how long a redrive has had no outcome. Default 10 min.
	Stalled time.Duration
	// SinkFailing is for how long a sink has taken nothing. Default 15 min.
	SinkFailing time.Duration
}

// WithDefaults returns b with its zero fields filled.
func (b Bounds) WithDefaults() Bounds {
	b.GroupLetters, b.LettersOld = cmp.Or(b.GroupLetters, 100), cmp.Or(b.LettersOld, 24*time.Hour)
	b.LettersExpire, b.BacklogLag = cmp.Or(b.LettersExpire, 0.8), cmp.Or(b.BacklogLag, 5*time.Minute)
	b.OutboxLag, b.WithoutOwner = cmp.Or(b.OutboxLag, time.Minute), cmp.Or(b.WithoutOwner, 10*time.Minute)
	b.Absent, b.Crashes = cmp.Or(b.Absent, time.Minute), cmp.Or(b.Crashes, 3)
	b.Pause, b.Stalled = cmp.Or(b.Pause, time.Hour), cmp.Or(b.Stalled, 10*time.Minute)
	b.SinkFailing = cmp.Or(b.SinkFailing, 15*time.Minute)
	return b
}

// Validate returns an error that names the invalid field.
func (b Bounds) Validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"GroupLetters", float64(b.GroupLetters)}, {"LettersOld", float64(b.LettersOld)}, {"LettersExpire", b.LettersExpire},
		{"BacklogLag", float64(b.BacklogLag)}, {"OutboxLag", float64(b.OutboxLag)}, {"WithoutOwner", float64(b.WithoutOwner)},
		{"Absent", float64(b.Absent)}, {"Crashes", float64(b.Crashes)}, {"Pause", float64(b.Pause)}, {"Stalled", float64(b.Stalled)},
		{"SinkFailing", float64(b.SinkFailing)},
	} {
		if f.value < 0 || f.name == "LettersExpire" && f.value > 1 {
			return fmt.Errorf("option Bounds.%s is out of range: 0 gives the default, Off turns a kind off", f.name)
		}
	}
	return nil
}
