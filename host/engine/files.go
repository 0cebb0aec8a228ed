package engine

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/tetratelabs/wazero"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"
)

// Mount is a directory of the host that a guest sees at a path of its own. It belongs to whoever opened it, and
// has to stay open while instances have it.
type Mount struct {
	root  *os.Root
	guest string
	write bool
}

// OpenMount opens a directory for guests, who see it at the absolute path guest, to read or, with write, to change.
func OpenMount(dir, guest string, write bool) (*Mount, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Mount{root: root, guest: guest, write: write}, nil
}

// Close closes the directory.
func (m *Mount) Close() error { return m.root.Close() }

// mounts are what the instance's file system shows; nil where it has none.
func mounts(list []*Mount) wazero.FSConfig {
	if len(list) == 0 {
		return nil
	}
	config := wazero.NewFSConfig()
	for _, m := range list {
		adapted := &sysfs.ReadFS{FS: &sysfs.AdaptFS{FS: readable{m.root}}}
		var shown experimentalsys.FS = mount{adapted, m.root}
		if m.write {
			shown = writable{mount{adapted, m.root}}
		}
		config = config.(sysfs.FSConfig).WithSysFSMount(shown, m.guest)
	}
	return config
}

// mount is a read-only file system that knows its symbolic links as such.
type mount struct {
	experimentalsys.FS
	root *os.Root
}

// Lstat implements experimentalsys.FS.
func (m mount) Lstat(path string) (sys.Stat_t, experimentalsys.Errno) {
	info, err := m.root.Lstat(local(path))
	if err != nil {
		return sys.Stat_t{}, experimentalsys.UnwrapOSError(err)
	}
	return sys.NewStat_t(info), 0
}

// Readlink implements experimentalsys.FS.
func (m mount) Readlink(path string) (string, experimentalsys.Errno) {
	target, err := m.root.Readlink(local(path))
	if err != nil {
		return "", experimentalsys.UnwrapOSError(err)
	}
	return target, 0
}

// local is a path within the mount, as an [os.Root] takes it.
func local(guest string) string {
	if guest = path.Clean(strings.TrimLeft(guest, "/")); guest != "" {
		return guest
	}
	return "."
}

// readable is the directory as a file system to read. An [os.Root] resolves names within itself, so that neither
// ".." nor a symbolic link leaves it, not even one that changes meanwhile.
type readable struct{ root *os.Root }

// listed is a file whose directories are read without a look at each entry, which a link may lead nowhere.
type listed struct {
	fs.ReadDirFile
	io.ReaderAt
	io.Seeker
}

// Open implements fs.FS. What is neither a file nor a directory is refused: opening a pipe, or reading a
// device, would hold the guest up past its deadline.
func (r readable) Open(name string) (fs.File, error) {
	refuse := func(err error) (fs.File, error) { return nil, &fs.PathError{Op: "open", Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return refuse(fs.ErrInvalid)
	}
	file, err := r.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fs.ErrPermission
	}
	if err != nil {
		_, err = refuse(errors.Join(err, file.Close()))
		return nil, err
	}
	return listed{file, file, file}, nil
}
