//go:build unix

package engine

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func checkCacheOwner(dir string, info fs.FileInfo) error {
	if perm := info.Mode().Perm(); perm&0o022 != 0 {
		return fmt.Errorf("the compilation cache %s can be written by others (mode %04o): chmod 700 it, after removing what lies in it", dir, perm)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("the compilation cache %s belongs to user %d, and this process runs as %d: name a directory of its own", dir, stat.Uid, os.Geteuid())
	}
	return nil
}
