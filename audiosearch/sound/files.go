package sound

import "context"

// Files finds the bytes of a video.
type Files interface {
	// Local returns the name of a local file that holds what the catalog calls path, and
	// keeps it there until release is called. It may download it. The file is a real one:
	// the service looks at its size and time, and reads it. A path that leads nowhere, or
	// to where it must not lead, is [BadMedia]. Without an error, release is not nil, and
	// called once. The texts of errors are shown as those of a [Media] are.
	Local(ctx context.Context, org, path string) (file string, release func(), err error)
}

// SameFiles is a Files that notices when another file is put in the place of one that
// is being read. Without it, only a change of the file itself is noticed.
type SameFiles interface {
	Files

	// Same reports whether a file that Local returned, and that is not released yet, is
	// still the one that path leads to.
	Same(org, path, file string) bool
}
