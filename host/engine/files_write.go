package engine

import (
	"io/fs"
	"os"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
)

// writable is a mount that its guests may change. Names are resolved within the directory, as they are for reading.
// Symbolic links cannot be made: the host's own programs might follow one that a guest has pointed elsewhere.
type writable struct{ mount }

// OpenFile implements experimentalsys.FS.
func (w writable) OpenFile(path string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	const write = experimentalsys.O_WRONLY | experimentalsys.O_RDWR | experimentalsys.O_CREAT | experimentalsys.O_TRUNC | experimentalsys.O_APPEND
	if flag&write == 0 {
		return w.mount.OpenFile(path, flag, perm)
	}
	file, err := w.root.OpenFile(local(path), osFlags(flag), perm&0o777)
	if err != nil {
		return nil, experimentalsys.UnwrapOSError(err)
	}
	opened, errno := w.opened(file, path, flag)
	if errno != 0 {
		_ = file.Close() // nothing was written
		return nil, errno
	}
	return opened, 0
}

// osFlags are those that the directory is opened with. A pipe that nobody reads does not hold the guest up, and
// what is emptied has to be known to be a file before.
func osFlags(flag experimentalsys.Oflag) int {
	flags := os.O_RDWR | nonblock
	if flag&experimentalsys.O_WRONLY != 0 {
		flags = os.O_WRONLY | nonblock
	}
	for bit, f := range map[experimentalsys.Oflag]int{experimentalsys.O_APPEND: os.O_APPEND, experimentalsys.O_CREAT: os.O_CREATE, experimentalsys.O_EXCL: os.O_EXCL} {
		if flag&bit != 0 {
			flags |= f
		}
	}
	return flags
}

// opened is an open file as the guest has it.
func (w writable) opened(file *os.File, path string, flag experimentalsys.Oflag) (experimentalsys.File, experimentalsys.Errno) {
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, experimentalsys.UnwrapOSError(err)
	case info.IsDir():
		return nil, experimentalsys.EISDIR
	case !info.Mode().IsRegular():
		return nil, experimentalsys.EPERM
	}
	if flag&experimentalsys.O_TRUNC != 0 {
		if err := file.Truncate(0); err != nil {
			return nil, experimentalsys.UnwrapOSError(err)
		}
	}
	read, errno := (&sysfs.AdaptFS{FS: already{file}}).OpenFile("file", experimentalsys.O_RDONLY, 0)
	if errno != 0 {
		return nil, errno
	}
	return &writtenFile{File: read, file: file, fs: w, path: path, appends: flag&experimentalsys.O_APPEND != 0}, 0
}

// already is a file system of one file, which is open.
type already struct{ file *os.File }

// Open implements fs.FS.
func (a already) Open(string) (fs.File, error) { return a.file, nil }

// Mkdir implements experimentalsys.FS.
func (w writable) Mkdir(path string, perm fs.FileMode) experimentalsys.Errno {
	return experimentalsys.UnwrapOSError(w.root.Mkdir(local(path), perm&0o777))
}

// Rename implements experimentalsys.FS.
func (w writable) Rename(from, to string) experimentalsys.Errno {
	return experimentalsys.UnwrapOSError(w.root.Rename(local(from), local(to)))
}

// Rmdir implements experimentalsys.FS.
func (w writable) Rmdir(path string) experimentalsys.Errno { return w.remove(path, true) }

// Unlink implements experimentalsys.FS.
func (w writable) Unlink(path string) experimentalsys.Errno { return w.remove(path, false) }

func (w writable) remove(path string, directory bool) experimentalsys.Errno {
	name := local(path)
	info, err := w.root.Lstat(name)
	switch {
	case err != nil:
		return experimentalsys.UnwrapOSError(err)
	case name == ".":
		return experimentalsys.EPERM // the mount itself
	case directory && !info.IsDir():
		return experimentalsys.ENOTDIR
	case !directory && info.IsDir():
		return experimentalsys.EISDIR
	}
	return experimentalsys.UnwrapOSError(w.root.Remove(name))
}

// Link implements experimentalsys.FS.
func (w writable) Link(from, to string) experimentalsys.Errno {
	return experimentalsys.UnwrapOSError(w.root.Link(local(from), local(to)))
}

// Symlink implements experimentalsys.FS.
func (w writable) Symlink(string, string) experimentalsys.Errno { return experimentalsys.EPERM }

// Utimens implements experimentalsys.FS.
func (w writable) Utimens(path string, accessed, modified int64) experimentalsys.Errno {
	instant := func(ns int64) time.Time {
		if ns == experimentalsys.UTIME_OMIT {
			return time.Time{} // which leaves it as it is
		}
		return time.Unix(0, ns)
	}
	return experimentalsys.UnwrapOSError(w.root.Chtimes(local(path), instant(accessed), instant(modified)))
}

// writtenFile is a file that is open for writing.
type writtenFile struct {
	experimentalsys.File // reads
	file                 *os.File
	fs                   writable
	path                 string
	appends              bool
}

// IsAppend implements experimentalsys.File.
func (f *writtenFile) IsAppend() bool { return f.appends }

// SetAppend implements experimentalsys.File: a file stays as it was opened.
func (f *writtenFile) SetAppend(enable bool) experimentalsys.Errno {
	if enable != f.appends {
		return experimentalsys.ENOSYS
	}
	return 0
}

// Write implements experimentalsys.File.
func (f *writtenFile) Write(buf []byte) (int, experimentalsys.Errno) {
	n, err := f.file.Write(buf)
	return n, experimentalsys.UnwrapOSError(err)
}

// Pwrite implements experimentalsys.File.
func (f *writtenFile) Pwrite(buf []byte, offset int64) (int, experimentalsys.Errno) {
	if f.appends || offset < 0 {
		return 0, experimentalsys.EINVAL
	}
	n, err := f.file.WriteAt(buf, offset)
	return n, experimentalsys.UnwrapOSError(err)
}

// Truncate implements experimentalsys.File.
func (f *writtenFile) Truncate(size int64) experimentalsys.Errno {
	if size < 0 {
		return experimentalsys.EINVAL
	}
	return experimentalsys.UnwrapOSError(f.file.Truncate(size))
}

// Sync implements experimentalsys.File.
func (f *writtenFile) Sync() experimentalsys.Errno {
	return experimentalsys.UnwrapOSError(f.file.Sync())
}

// Datasync implements experimentalsys.File.
func (f *writtenFile) Datasync() experimentalsys.Errno { return f.Sync() }

// Utimens implements experimentalsys.File, by the name that the file was opened with.
func (f *writtenFile) Utimens(accessed, modified int64) experimentalsys.Errno {
	return f.fs.Utimens(f.path, accessed, modified)
}
