//go:build !linux

package ffmpeg

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// changedAt is not known.
func changedAt(os.FileInfo) int { return 0 }

// handOver does nothing: the process opens the file by its path.
func handOver(*exec.Cmd, *os.File) {}

// inputURL is what the process calls the file.
func inputURL(file *os.File) (string, error) {
	path, err := filepath.Abs(file.Name())
	if err != nil {
		return "", fmt.Errorf("ffmpeg: finding the file: %w", err)
	}
	return "file:" + path, nil
}
