package main

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"testing"
)

// uiReader looks at the pages when the command says where they are, and then stops it.
type uiReader struct {
	*testing.T
	stop context.CancelFunc
	said strings.Builder
	page string
}

var uiAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\S+`)

func (u *uiReader) Write(b []byte) (int, error) {
	u.said.Write(b)
	if url := uiAddress.FindString(u.said.String()); url != "" && u.page == "" {
		defer u.stop()
		jar, _ := cookiejar.New(nil) // never fails without options
		client := &http.Client{Jar: jar}
		defer client.CloseIdleConnections()
		answer, err := client.Get(url) // the link for one use, which leads to the pages
		if err != nil {
			u.Error(err)
			return len(b), nil
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		if err != nil {
			u.Error(err)
		}
		u.page = string(page)
	}
	return len(b), nil
}

// The command serves the pages until it is stopped, on loopback only.
func TestUI(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "2")
	u := &uiReader{T: t}
	p.run(exitDone, func(m *Main) {
		m.Stderr = u
		m.Interruptible = func(ctx context.Context) (context.Context, context.CancelFunc) {
			work, stop := context.WithCancel(ctx)
			u.stop = stop
			return work, stop
		}
	}, "ui", "--listen", "127.0.0.1:0", "--name", "shop-prod")
	for _, want := range []string{"shop-prod", "context deadline exceeded", "headrace status"} {
		if !strings.Contains(u.page, want) {
			t.Errorf("the page lacks %q: %s", want, u.page)
		}
	}
	for _, address := range []string{"0.0.0.0:8090", "192.0.2.1:8090", ":8090"} {
		p.run(exitUsage, nil, "ui", "--listen", address)
	}
	p.run(exitFailed, nil, "ui", "--listen", "8090")
}
