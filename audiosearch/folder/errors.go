package folder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/oneline"
)

// The errors of [Sync] that a caller may want to tell apart, beside those of the service.
var (
	// ErrNoFiles: the folder has no file that Sync would enter.
	ErrNoFiles = errors.New("audiosearch: the folder has no media files: " +
		"check that it is the right one, and is mounted")
	// ErrAllGone: Sync would delete every video of the folder.
	ErrAllGone = errors.New("audiosearch: every video of the folder would be deleted: " +
		"check that it is the right one, or set SyncOptions.DeleteAll")
)

// unavailable marks a failure of what the host has plugged in.
func unavailable(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", mortise.ErrUnavailable, doing, err)
}

// panicked returns what a panic of a hook becomes.
func (y *folderSync) panicked(ctx context.Context, name string) func(p any) error {
	return func(p any) error { return hook.Panicked(ctx, slog.Default(), name, p) }
}

// maxMessage bounds what is said of one file, in bytes.
const maxMessage = 300

// oneLine is one line of bounded length.
func oneLine(err error) string {
	return oneline.Short(err.Error(), "audiosearch: ", maxMessage)
}

// validText reports whether a text can be stored everywhere.
func validText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
