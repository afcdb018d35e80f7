package sound

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/internal/mark"
)

// Info is what a media file says of itself.
type Info struct {
	// Duration is the length that the file states, or an estimate; 0 if neither is known.
	// The decoded length counts in the end.
	Duration time.Duration

	// Estimated: Duration is an estimate. No limit is checked against it.
	Estimated bool

	// Start is the time of the file's own clock at its start; 0 for most files. A part of a
	// live recording may begin hours after its clock did: some players show that time, and
	// others begin at 0, as all times of this library do.
	Start time.Duration

	HasVideo bool // besides sound; a cover picture is no video

	// Keyframes are when the pictures are shown that can be shown without decoding
	// others, ascending, from the start of the sound. There are none without video.
	Keyframes []time.Duration
}

// Media decodes files. It is safe for concurrent use.
//
// Files come from anywhere, so a Media bounds time, bytes and duration, reads nothing but
// the file that it was given, and never panics. Its errors say what to do. Who searches
// sees their texts, in the message of a run, so they name no machine, no folder and no
// secret. (What a [Scorer] or a store says is for the log only.) One that says what is
// wrong with the content of the file is wrapped by [BadMedia]: then the file is not tried
// again until it changes. One for a kind of file that another Media may be able to read
// is [ErrFormat]. The error of an ended context, or of a program that is missing, is
// neither.
//
// A path is the local file of [Files].Local. Its name may have no ending, and is not the
// path of the catalog: package folder gives /proc/PID/fd/N on Linux. So a Media recognizes
// the kind of a file by its content. It wraps ErrFormat in a text that names the kinds that
// it reads; a bare one gets a general text.
type Media interface {
	// ID names everything that samples, times, keyframes and the choice of a track depend
	// on, such as "ffmpeg/2 average", but for the versions of the programs that it runs. A
	// video that was decoded by a Media of another ID is scored again, and its old scores
	// are searched until then: so services that share a store have Media of one ID. It is
	// a name, 1 to 255 bytes, and never changes.
	ID() string

	// Probe reads the header of a file, and its keyframes.
	Probe(ctx context.Context, path string) (Info, error)

	// PCM decodes the sound: mono, the average of all channels, resampled to rate, in
	// blocks of any length that are valid until the next one. Nothing but the block at
	// hand is in memory. An error comes with a nil block and is the last element. A
	// file without sound is an error. If the error is [Incomplete], the sound before it
	// counts: it is searched, and the error is shown beside the results until the file
	// changes.
	//
	// A service decodes on a goroutine of its own, ahead of the scorer by the samples of
	// one batch, and by 4 Mi samples at most. It ends ctx when it needs no more.
	PCM(ctx context.Context, path string, rate int) iter.Seq2[[]float32, error]
}

// FirstMedia returns a Media that asks the given ones in turn: each file is read by the
// first one that does not answer [ErrFormat]. Put the pickiest first. Its ID is made of
// all their IDs in order: adding, removing or reordering one has all videos scored again.
func FirstMedia(media ...Media) Media { return firstMedia(media) }

type firstMedia []Media

// ID has the IDs of all, since each may leave a file to the next one.
func (f firstMedia) ID() string {
	ids := make([]string, len(f))
	for i, m := range f {
		ids[i] = m.ID()
	}
	return strings.Join(ids, " or ")
}

// errUnread is the answer if there is no Media that could say more. It is no [BadMedia]:
// the next program may bring one.
var errUnread = mark.As(errors.New("no files of this kind are read here: convert it"), ErrFormat)

func (f firstMedia) Probe(ctx context.Context, path string) (Info, error) {
	refusal := errUnread
	for _, m := range f {
		info, err := m.Probe(ctx, path)
		if !errors.Is(err, ErrFormat) {
			return info, err
		}
		refusal = err
	}
	return Info{}, refusal // the last one's, which is the least picky
}

func (f firstMedia) PCM(ctx context.Context, path string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		refusal := errUnread
		for _, m := range f {
			refused, begun := false, false
			for block, err := range m.PCM(ctx, path, rate) {
				// Once a block was yielded, another Media would begin at the start again.
				if errors.Is(err, ErrFormat) && !begun {
					refused, refusal = true, err
					break
				}
				begun = true
				if !yield(block, err) {
					return
				}
			}
			if !refused {
				return
			}
		}
		yield(nil, refusal)
	}
}
