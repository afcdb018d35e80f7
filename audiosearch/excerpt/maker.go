package excerpt

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// Kind is a kind of excerpt. [Pictures], [Sounds] and [Spectrograms] are some.
type Kind struct {
	// Has reports whether there is an excerpt of a video for two times in it, from 0 on.
	// So it bounds what can be asked for.
	Has func(scoring *audiosearch.Scoring, from, to time.Duration) bool

	// Make makes it of a file, and returns when ctx ends.
	Make func(ctx context.Context, file string, from, to time.Duration) ([]byte, error)
}

// Options are the settings of New. The zero value means the defaults.
type Options struct {
	Places *Places // how many are made at a time; nil: as many as NewPlaces gives, for this kind alone
	Kept   int     // bytes of excerpts that are kept in memory: 16 MiB
}

const defaultKept = 16 << 20

// What Make may answer beside the errors of the service.
var (
	ErrNone    = errors.New("excerpt: there is none for these times")
	ErrChanged = errors.New("excerpt: the file is not the one that was scored")
	ErrNotMade = errors.New("excerpt: it cannot be made")
)

// Excerpt is what was made.
type Excerpt struct {
	Content []byte // shared: it must not be changed
	Tag     string // another one for other content of this kind and video: letters, digits and hyphens
}

// Maker makes excerpts of one kind, a few at a time, and keeps the latest. Whoever asks
// for one that is being made waits for that one. It is safe for concurrent use.
type Maker struct {
	service *audiosearch.Service
	files   sound.Files
	kind    Kind
	kept    *kept
}

// New returns a Maker of excerpts of the videos of a service, whose files are those that
// the service scores.
func New(service *audiosearch.Service, files sound.Files, kind Kind, opts *Options) (*Maker, error) {
	if service == nil || files == nil || kind.Has == nil || kind.Make == nil {
		return nil, errors.New("excerpt: New needs a service, its files, and what a kind is made by")
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Places == nil {
		o.Places = NewPlaces()
	}
	switch {
	case o.Kept < 0:
		return nil, errors.New("excerpt: Options.Kept must be 0 or more")
	case o.Kept == 0:
		o.Kept = defaultKept
	}
	return &Maker{service: service, files: files, kind: kind, kept: newKept(o.Kept, o.Places)}, nil
}

// Make returns an excerpt of a video, for two times in it. It returns when ctx ends, and
// when nobody waits any more, so does the making.
//
// The error is one of the service, such as [audiosearch.ErrVideoNotFound], [ErrNone],
// [ErrChanged] if the file is not the one that was scored, as far as its size and its
// time tell, [ErrCrowded] or [ErrWaited] if no place is free, or else [ErrNotMade].
func (m *Maker) Make(ctx context.Context, org, dataset, video string, from, to time.Duration) (Excerpt, error) {
	v, err := m.service.Video(ctx, org, dataset, video)
	if err != nil {
		return Excerpt{}, err
	}
	scorings, err := m.service.Scorings(ctx, org, dataset, video)
	if err != nil && !errors.Is(err, audiosearch.ErrNotScored) {
		return Excerpt{}, err
	}
	which := slices.IndexFunc(scorings, func(s audiosearch.Scoring) bool { return m.kind.Has(&s, from, to) })
	if which < 0 || from < 0 || to < 0 {
		return Excerpt{}, ErrNone
	}
	file := &scorings[which]
	key := name{org, dataset, video, file.Digest, file.FileSize, file.FileTime.UnixMicro(), from, to}
	content, err := m.kept.get(ctx, key, func(ctx context.Context) ([]byte, error) { return m.cut(ctx, key, v.Path) })
	switch {
	case err == nil:
		tag := fmt.Sprintf("%s-%d-%d", hex.EncodeToString(key.digest[:8]), from.Milliseconds(), to.Milliseconds())
		return Excerpt{content, tag}, nil
	case errors.Is(err, ErrChanged), errors.Is(err, ErrCrowded), errors.Is(err, ErrWaited):
		return Excerpt{}, err
	}
	return Excerpt{}, fmt.Errorf("%w: %w", ErrNotMade, err)
}

// cut makes an excerpt of the file at a path if that is the one that was scored.
// Otherwise the excerpt would show something else than what was found.
func (m *Maker) cut(ctx context.Context, key name, path string) ([]byte, error) {
	file, release, err := m.files.Local(ctx, key.organization, path)
	if err != nil {
		return nil, err
	}
	defer release()
	same := func() error {
		info, err := os.Stat(file)
		if err == nil && (info.Size() != key.size || info.ModTime().UnixMicro() != key.modified) {
			err = ErrChanged
		}
		return err
	}
	if err := same(); err != nil {
		return nil, err
	}
	content, err := m.kind.Make(ctx, file, key.from, key.to)
	if other := same(); other != nil { // somebody has written to it meanwhile
		return nil, other
	}
	return content, err
}
