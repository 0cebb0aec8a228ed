// Command archive packs a folder into a .tar.gz or .zip whose bytes depend on the names, the contents and the executable
// bits of its files and on one time, and on nothing else of the machine. Systems' own tar and zip differ in how they do
// this, or cannot.
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "archive: usage: archive UNIX_SECONDS FOLDER FILE.tar.gz|FILE.zip")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "archive:", err)
		os.Exit(1)
	}
}

func run(seconds, folder, name string) (err error) {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	// A zip holds no time with a finer unit, nor a zone.
	at := time.Unix(n, 0).UTC().Truncate(2 * time.Second)
	if strings.HasSuffix(name, ".zip") {
		return packZip(out, folder, at)
	}
	return packTar(out, folder, at)
}

// entry is a file of the archive: its path begins with the folder's own name.
type entry struct {
	path       string
	content    []byte
	executable bool
}

func (e *entry) mode() fs.FileMode {
	if e.executable {
		return 0o755
	}
	return 0o644
}

// each gives the files of a folder in the order of their names. Folders come with their files.
func each(folder string, do func(*entry) error) error {
	base := filepath.Base(folder)
	return filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return do(&entry{path.Join(base, filepath.ToSlash(relative)), content, info.Mode()&0o100 != 0})
	})
}

func packTar(out io.Writer, folder string, at time.Time) error {
	compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(compressed)
	err = each(folder, func(e *entry) error {
		h := &tar.Header{Name: e.path, Size: int64(len(e.content)), Mode: int64(e.mode()), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(e.content)
		return err
	})
	return errors.Join(err, w.Close(), compressed.Close())
}

func packZip(out io.Writer, folder string, at time.Time) error {
	w := zip.NewWriter(out)
	err := each(folder, func(e *entry) error {
		h := &zip.FileHeader{Name: e.path, Method: zip.Deflate, Modified: at}
		h.SetMode(e.mode())
		file, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		_, err = file.Write(e.content)
		return err
	})
	return errors.Join(err, w.Close())
}
