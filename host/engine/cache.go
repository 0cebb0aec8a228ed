package engine

import (
	"fmt"
	"os"
)

// prepareCacheDir makes sure that nobody else can write into the directory: what lies in it is mapped as
// machine code.
func prepareCacheDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the compilation cache %s: %w", dir, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("open the compilation cache %s: %w", dir, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("the compilation cache %s is not a directory: name another one", dir)
	}
	return checkCacheOwner(dir, info)
}
