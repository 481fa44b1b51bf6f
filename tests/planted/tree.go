package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tree is a scratch copy of the repository.
type tree struct {
	scratch string // all of it
	dir     string // the copy
	temp    string // what checks leave behind
}

// copyTree copies the files that git tracks in root, as they are now.
func copyTree(ctx context.Context, root string) (_ *tree, err error) {
	listed, err := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("list the tracked files of %s: %w", root, err)
	}
	scratch, err := os.MkdirTemp("", "planted-")
	if err != nil {
		return nil, fmt.Errorf("make a scratch directory: %w", err)
	}
	t := &tree{scratch: scratch, dir: filepath.Join(scratch, "tree"), temp: filepath.Join(scratch, "temp")}
	defer func() {
		if err != nil {
			_ = t.remove()
		}
	}()
	if err := os.Mkdir(t.temp, 0o700); err != nil {
		return nil, fmt.Errorf("make a scratch directory: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(listed), "\x00"), "\x00") {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := t.add(root, name); err != nil && !errors.Is(err, fs.ErrNotExist) { // deleted, and not committed yet
			return nil, fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return t, nil
}

func (t *tree) add(root, name string) error {
	from, to := filepath.Join(root, name), filepath.Join(t.dir, name)
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// remove removes the copy, and what was left beside it.
func (t *tree) remove() error { return os.RemoveAll(t.scratch) }

// plant applies a bug's diff, and returns what takes it out again.
func (t *tree) plant(ctx context.Context, b *bug) (func() error, error) {
	path, err := filepath.Abs(b.path)
	if err != nil {
		return nil, err
	}
	if err := t.apply(ctx, path); err != nil {
		return nil, err
	}
	// Also after Ctrl-C, for which the copy is removed anyway.
	return func() error { return t.apply(context.WithoutCancel(ctx), path, "--reverse") }, nil
}

// apply runs git apply. The copy is no repository of its own, and git is not to look for
// one above it.
func (t *tree) apply(ctx context.Context, path string, flags ...string) error {
	// One line of context on each side is enough: the code around a bug may change.
	cmd := exec.CommandContext(ctx, "git", append(append([]string{"apply", "-C1"}, flags...), path)...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+t.scratch, "GIT_DIR=", "GIT_WORK_TREE=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, out.String())
	}
	return nil
}
