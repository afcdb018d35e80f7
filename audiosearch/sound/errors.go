package sound

import (
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise/internal/mark"
)

// What the errors of scorers, media and files can be, for errors.Is.
var (
	// ErrFormat: a Media does not read this kind of file; another one may.
	ErrFormat = errors.New("audiosearch: the kind of file is not supported")
	// ErrBadMedia: there is something wrong with a file, and trying again will not help
	// until the file changes. Errors are marked so by [BadMedia].
	ErrBadMedia = errors.New("audiosearch: the file cannot be searched")
	// ErrIncomplete: a part of the file is missing, and what is there can be searched.
	// Errors are marked so by [Incomplete].
	ErrIncomplete = errors.New("audiosearch: the file is not complete")
	// ErrPermanent: trying again will not help. Errors are marked so by [Permanent].
	ErrPermanent = errors.New("audiosearch: permanent")
)

// BadMedia marks an error as one of the file itself: errors.Is(err, ErrBadMedia). Its
// text is shown to whoever searches, so it says what to do, and names no folder of the
// machine. BadMedia of nil is nil.
func BadMedia(err error) error {
	if err == nil {
		return nil
	}
	return mark.As(err, ErrBadMedia)
}

// Incomplete marks the end of a sound that ends too early, such as that of a file that
// was cut. The text of err is shown to whoever searches, like that of [BadMedia].
// Incomplete of nil is nil.
func Incomplete(err error) error {
	if err == nil {
		return nil
	}
	return mark.As(err, ErrIncomplete)
}

// Permanent marks an error of a [Scorer] that no later attempt can mend, such as a model
// that does not fit: the run ends at once. Permanent of nil is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return mark.As(err, ErrPermanent)
}

// RetryAfter marks an error of a [Scorer] as one that says when to try again, such as the
// 429 or 503 of a model server: the next attempt at the run begins after so long, in
// place of the worker's backoff. The attempt counts. Less than 0 is 0, and more than a
// day is a day. An error that is [Permanent] as well ends the run all the same.
// RetryAfter of nil is nil.
func RetryAfter(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return mark.After(err, after)
}
