package httpadapter

import (
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// runStatus is how far a run is, as it goes over the wire.
type runStatus struct {
	RunID              int64       `json:"run_id"`
	State              string      `json:"state"`
	TerminationType    *string     `json:"termination_type"`    // null before the end
	TerminationMessage *string     `json:"termination_message"` // null if there is nothing to say
	Progress           runProgress `json:"progress"`
}

type runProgress struct {
	Done  int `json:"done"`
	Total int `json:"total"`

	// What nobody knows is left out.
	SoundDone  *float64 `json:"sound_done_seconds,omitempty"`
	SoundTotal *float64 `json:"sound_total_seconds,omitempty"`
	Speed      *float64 `json:"speed,omitempty"`
	Left       *int64   `json:"seconds_left,omitempty"`
}

func newRunStatus(r *audiosearch.Run) runStatus {
	return runStatus{
		RunID: r.ID, State: string(r.State), TerminationType: orNull(string(r.Termination)), TerminationMessage: orNull(r.Message),
		Progress: newRunProgress(r),
	}
}

func newRunProgress(r *audiosearch.Run) runProgress {
	p := runProgress{Done: r.Done, Total: r.Total}
	if r.Sound.Done > 0 || r.Sound.Total > 0 {
		p.SoundDone = new(float64(r.Sound.Done.Milliseconds()) / 1000)
	}
	if r.Sound.Total > 0 {
		p.SoundTotal = new(float64(r.Sound.Total.Milliseconds()) / 1000)
	}
	if r.State != audiosearch.StateRunning {
		return p // nobody scores
	}
	if r.Sound.Speed > 0 {
		p.Speed = new(math.Round(100*r.Sound.Speed) / 100)
	}
	if left, known := r.Sound.Left(); known {
		p.Left = new(int64(left.Seconds()))
	}
	return p
}

// writeAtOnce is how many bytes of a result gather before they are written.
const writeAtOnce = 16 << 10

// writeRunResult writes the results of a run, or its state alone before the end. It writes
// piece by piece, because each of a thousand results may repeat the long metadata of a
// video; and without reflection. It returns the error that found yields, and errNoRoom if
// held has no room for the results in memory.
func writeRunResult(w io.Writer, r *audiosearch.Run, found iter.Seq2[audiosearch.Result, error], held *hold) error {
	b := []byte(`{"status":`)
	if r.State != audiosearch.StateTerminated {
		_, _ = w.Write(append(appendString(b, string(r.State)), '}'))
		return nil
	}
	b = appendString(b, string(r.Termination))
	b = append(b, `,"search_target":"sound","results":[`...)
	first, largest := true, 0
	for result, err := range found {
		if err != nil {
			return err
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		before := len(b)
		b = appendResult(b, &result)
		if one := len(b) - before; one > largest {
			largest = one
			if !held.grow(resultsHold(one)) {
				return errNoRoom
			}
		}
		if len(b) < writeAtOnce {
			continue
		}
		if _, err := w.Write(b); err != nil {
			return nil // the caller is gone
		}
		b = b[:0]
	}
	_, _ = w.Write(append(b, `]}`...))
	return nil
}

// resultsHold is the memory of results of which the largest one has so many bytes of JSON:
// the first page of the store, the current page, and the bytes that are written at once. It is
// a multiple of 64 KiB, so that a slightly larger result does not end a stream.
func resultsHold(largest int) int64 {
	const unit = 64 << 10
	page := max(largest, min(stepItems*largest, stepBytes))
	return int64((2*page + writeAtOnce + largest + unit - 1) / unit * unit)
}

func appendResult(b []byte, r *audiosearch.Result) []byte {
	b = appendString(append(b, `{"video":{"video_id":`...), r.VideoID)
	b = appendString(append(b, `,"path":`...), r.Path)
	b = appendMetadata(append(b, `,"metadata":`...), r.Metadata)
	if r.VideoStart > 0 {
		b = appendMilliseconds(append(b, `,"start_ms":`...), r.VideoStart)
	}
	b = appendMilliseconds(append(b, `},"start_time_ms":`...), r.Start)
	b = appendMilliseconds(append(b, `,"end_time_ms":`...), r.End)
	b = appendString(append(b, `,"keyframe":{"image_id":`...), r.Keyframe.ImageID)
	b = appendMilliseconds(append(b, `,"timestamp_ms":`...), r.Keyframe.At)
	b = appendScore(append(b, `},"score":`...), r.Score)
	b = append(b, `,"moderation_score":`...)
	if r.Moderation == nil {
		b = append(b, "null"...)
	} else {
		b = appendScore(b, *r.Moderation)
	}
	return append(b, '}')
}

// appendMetadata writes each value as its owner wrote it: a number keeps its digits. Keys
// are sorted.
func appendMetadata(b []byte, m metadata.Map) []byte {
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, key), ':')
		switch value := m[key]; value.Kind() {
		case metadata.KindNull:
			b = append(b, "null"...)
		case metadata.KindString:
			b = appendString(b, value.Text())
		default:
			b = append(b, value.Text()...)
		}
	}
	return append(b, '}')
}

func appendMilliseconds(b []byte, d time.Duration) []byte {
	return strconv.AppendInt(b, d.Milliseconds(), 10)
}

// appendScore writes the shortest number that reads as the same float64, with an exponent
// if it is tiny.
func appendScore(b []byte, score float64) []byte {
	format := byte('f')
	if score != 0 && score < 1e-6 {
		format = 'e'
	}
	return strconv.AppendFloat(b, score, format, -1, 64)
}
