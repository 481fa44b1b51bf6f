package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
	"golang.org/x/sync/errgroup"
)

const (
	atOnce  = 6
	tries   = 4
	perFile = 5 * time.Minute
)

type file struct{ sum, path string }

func main() {
	log.SetFlags(0)
	log.SetPrefix("fetch: ")
	if len(os.Args) != 3 {
		log.Fatal("usage: fetch DIR URL < LIST")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := fetch(ctx, os.Args[1], strings.TrimSuffix(os.Args[2], "/"), os.Stdin); err != nil {
		log.Fatal(err)
	}
}

func fetch(ctx context.Context, dir, base string, list io.Reader) error {
	files, err := parse(list)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("%s exists", dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".part")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(part) }()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, f := range files {
		g.Go(func() error {
			again := backoff.WithContext(backoff.WithMaxRetries(backoff.NewExponentialBackOff(), tries-1), ctx)
			return backoff.Retry(func() error { return one(ctx, base+"/"+f.path, filepath.Join(part, path.Base(f.path)), f.sum) }, again)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	return os.Rename(part, dir)
}

func parse(list io.Reader) (files []file, err error) {
	for lines := bufio.NewScanner(list); ; {
		if !lines.Scan() {
			if len(files) == 0 {
				err = errors.New("the list is empty")
			}
			return files, errors.Join(lines.Err(), err)
		}
		fields := strings.Fields(lines.Text())
		if len(fields) != 2 || len(fields[0]) != 2*sha256.Size {
			return nil, fmt.Errorf("not a line of sha256sum: %q", lines.Text())
		}
		files = append(files, file{sum: fields[0], path: fields[1]})
	}
}

// one downloads url into name. What the server refuses for good is not tried again.
func one(ctx context.Context, url, name, sum string) error {
	ctx, cancel := context.WithTimeout(ctx, perFile)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return backoff.Permanent(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		err := fmt.Errorf("%s: %s", url, answer.Status)
		if answer.StatusCode >= 400 && answer.StatusCode < 500 && answer.StatusCode != http.StatusTooManyRequests {
			return backoff.Permanent(err)
		}
		return err
	}
	to, err := os.Create(name)
	if err != nil {
		return backoff.Permanent(err)
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, hash), answer.Body)
	if err = errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return backoff.Permanent(fmt.Errorf("%s has SHA-256 %s instead of %s", url, got, sum))
	}
	return nil
}
