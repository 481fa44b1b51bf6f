package ui_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/who"
)

// The pages stand below a path of a program that knows its people.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(context.Background(), filepath.Join(dir, "shop.db"), sqlite.Options{Migrate: true})
	if err != nil {
		panic(err)
	}
	defer func() { _ = st.Close() }()

	mux := http.NewServeMux()
	mux.Handle("/headrace/", ui.New(st, ui.Options{
		Path:  "/headrace/",
		Hosts: []string{"shop.example"},
		Identify: func(r *http.Request) (ui.Person, error) {
			name, password, ok := r.BasicAuth() // yours: a session
			if !ok || password != "secret" {
				return ui.Person{}, who.ErrUnknown
			}
			return ui.Person{Name: name, Role: who.Operator}, nil
		},
	}))

	for _, name := range []string{"", "ann"} {
		r := httptest.NewRequest("GET", "https://shop.example/headrace/", nil)
		if name != "" {
			r.SetBasicAuth(name, "secret")
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 401
	// 200
}
