package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// explained collects the plans of all statements that run on a database of PostgreSQL: the server
// explains each as it ends (auto_explain), in a notice to the client, and a proxy reads them.
type explained struct {
	mu         sync.Mutex
	statements []statement
}

// statement is one that has run.
type statement struct {
	Query string `json:"Query Text"`
	Plan  node   `json:"Plan"`
}

// node is a node of a plan.
type node struct {
	Type  string `json:"Node Type"`
	Table string `json:"Relation Name"`
	Hit   int    `json:"Shared Hit Blocks"`
	Read  int    `json:"Shared Read Blocks"`
	Plans []node `json:"Plans"`
}

// walked returns the tables that a plan reads from end to end.
func (n node) walked() (tables []string) {
	if n.Type == "Seq Scan" {
		tables = append(tables, n.Table)
	}
	for _, p := range n.Plans {
		tables = append(tables, p.walked()...)
	}
	return tables
}

// explain has the statements of a database explained, and returns a DSN to use it by.
func explain(t *testing.T, dsn string) (*explained, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	for _, set := range []string{
		"session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0", "auto_explain.log_analyze = on", "auto_explain.log_buffers = on",
		"auto_explain.log_timing = off", "auto_explain.log_format = json", "auto_explain.log_level = notice",
	} {
		if _, err := db.Exec("ALTER DATABASE " + name + " SET " + set); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e, server := &explained{}, u.Host
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { e.pass(t, client, server) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); conns.Wait() })
	u.Host = listener.Addr().String()
	return e, u.String()
}

// pass passes a connection on until one side ends it.
func (e *explained) pass(t *testing.T, client net.Conn, server string) {
	defer func() { _ = client.Close() }()
	back, err := (&net.Dialer{}).DialContext(context.WithoutCancel(t.Context()), "tcp", server)
	if err != nil {
		return // the client sees it
	}
	defer func() { _ = back.Close() }()
	var asks sync.WaitGroup
	defer asks.Wait()
	asks.Go(func() {
		_, _ = io.Copy(back, client)
		_ = back.(*net.TCPConn).CloseWrite()
	})
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(back, head); err != nil {
			_ = client.Close()
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(back, body); err != nil {
			_ = client.Close()
			return
		}
		if head[0] == 'N' {
			e.add(t, body)
		}
		if _, err := client.Write(append(head, body...)); err != nil {
			_ = client.Close()
			return
		}
	}
}

// add reads a notice.
func (e *explained) add(t *testing.T, notice []byte) {
	for field := range bytes.SplitSeq(notice, []byte{0}) {
		_, plan, found := bytes.Cut(field, []byte("plan:\n"))
		if !found || field[0] != 'M' {
			continue
		}
		var s statement
		if err := json.Unmarshal(plan, &s); err != nil {
			t.Errorf("%v: %s", err, plan)
		}
		e.mu.Lock()
		e.statements = append(e.statements, s)
		e.mu.Unlock()
	}
}

// take returns what has run since the last take.
func (e *explained) take() []statement {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.statements
	e.statements = nil
	return all
}
