package engine

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cached are the compiled files of a compilation cache.
func cached(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasPrefix(d.Name(), "valid-") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func runOnce(t *testing.T, o Options) {
	t.Helper()
	if err := cycle(t.Context(), newEngine(t, o), wat(t, "faces")); err != nil {
		t.Fatal(err)
	}
}

func TestCacheIsPrivateAndUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "cache")
	runOnce(t, Options{CacheDir: dir})
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	files := cached(t, dir)
	if len(files) == 0 {
		t.Fatal("nothing was cached")
	}
	before, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if valid, err := filepath.Glob(filepath.Join(dir, "valid-*")); err != nil || len(valid) != 1 {
		t.Errorf("%q are remembered as valid (%v), want one", valid, err)
	}
	runOnce(t, Options{CacheDir: dir})
	after, err := os.Stat(files[0])
	if err != nil || !os.SameFile(before, after) || len(cached(t, dir)) != len(files) {
		t.Errorf("the entry was written again: %v", err)
	}
}

func TestDamagedCacheDoesNotStopAModule(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	runOnce(t, Options{CacheDir: dir})
	for _, file := range cached(t, dir) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for at := len(b) / 2; at < len(b)/2+16; at++ {
			b[at] ^= 0xff
		}
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := &lines{}
	runOnce(t, Options{CacheDir: dir, Log: out.logger(slog.LevelInfo)})
	if got := out.all(); len(got) != 1 || !strings.Contains(got[0], `level=WARN msg="compiled without the cache" module=m cache=`+dir) {
		t.Error(got)
	}
}

func TestUnsafeCacheIsRefused(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o770); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		open: "the compilation cache " + open + " can be written by others (mode 0770): chmod 700 it",
		file: "create the compilation cache " + file + ": ",
	} {
		if _, err := New(t.Context(), Options{CacheDir: dir}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Error(err)
		}
	}
}
