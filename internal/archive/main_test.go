package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// tree makes a folder "release" somewhere, with files of a mode and a time.
func tree(t *testing.T, mode os.FileMode, at time.Time, order ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "release")
	for _, name := range order {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		bits := mode
		if name == "program" {
			bits |= 0o100
		}
		if err := os.WriteFile(file, []byte("this is "+name), bits); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, bits); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// One content makes one archive, wherever it lies, whenever it was written and whoever may read it.
func TestSameContentSameBytes(t *testing.T) {
	first := tree(t, 0o644, time.Unix(1, 0), "program", "man/a.1", "README.md")
	second := tree(t, 0o600, time.Now(), "README.md", "program", "man/a.1")
	for _, ending := range []string{".tar.gz", ".zip"} {
		var packed [2][]byte
		for i, folder := range []string{first, second} {
			name := filepath.Join(t.TempDir(), "out"+ending)
			if err := run("1700000001", folder, name); err != nil {
				t.Fatal(err)
			}
			var err error
			if packed[i], err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(packed[0], packed[1]) {
			t.Errorf("%s: %d and %d bytes differ", ending, len(packed[0]), len(packed[1]))
		}
		got := list(t, ending, packed[0])
		want := []string{"release/README.md 644 this is README.md", "release/man/a.1 644 this is man/a.1", "release/program 755 this is program"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", ending, got)
		}
	}
}

// list unpacks an archive: a line a file.
func list(t *testing.T, ending string, packed []byte) (lines []string) {
	t.Helper()
	line := func(name string, mode os.FileMode, at time.Time, content io.Reader) {
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		if at.Unix() != 1700000000 {
			t.Errorf("%s: %s is of %v", ending, name, at)
		}
		octal := map[os.FileMode]string{0o644: "644", 0o755: "755"}
		lines = append(lines, name+" "+octal[mode.Perm()]+" "+string(text))
	}
	if ending == ".zip" {
		r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			content, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			line(f.Name, f.Mode(), f.Modified, content)
		}
		return lines
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(plain)
	for {
		h, err := r.Next()
		if err == io.EOF {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		line(h.Name, h.FileInfo().Mode(), h.ModTime, r)
	}
}
