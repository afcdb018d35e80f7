package ffmpeg

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// header is what ffprobe says of a file.
type header struct {
	mov      bool
	duration time.Duration // 0: unknown
	sound    int           // number of the stream
	channels int
	layout   string        // "5.1(side)"; "": unknown
	delay    time.Duration // of the sound, from the start of the file
	start    float64       // time stamp of the start of the file, in seconds
	end      time.Duration // of the sound, from the start of the file; 0: unknown
	video    int           // number of the stream; -1: none
}

// ffprobe's JSON: numbers with a fraction are strings, and missing if they are unknown.
type (
	probed struct {
		Streams []probedStream `json:"streams"`
		Format  struct {
			Name     string `json:"format_name"`
			Start    string `json:"start_time"`
			Duration string `json:"duration"`
		} `json:"format"`
	}
	probedStream struct {
		Index    int    `json:"index"`
		Type     string `json:"codec_type"`
		Channels int    `json:"channels"`
		Layout   string `json:"channel_layout"`
		Start    string `json:"start_time"`
		Duration string `json:"duration"`
		Tags     struct {
			End string `json:"DURATION"` // in Matroska: "00:01:30.040000000"
		} `json:"tags"`
		Disposition struct {
			Picture int `json:"attached_pic"`
		} `json:"disposition"`
	}
)

const (
	maxHeader   = 1 << 20 // bytes of ffprobe's JSON
	maxPackets  = 2 << 30 // bytes of ffprobe's list of packets, 50 each: 24 hours at 500 a second
	maxChannels = 64      // of ffmpeg's filter pan
)

// header reads the header of the file. A file without sound is an error.
func (j *job) header() (*header, error) {
	path, err := j.ffprobe()
	if err != nil {
		return nil, err
	}
	args, err := j.input("error", true)
	if err != nil {
		return nil, err
	}
	args = append(args, "-of", "json", "-show_entries",
		"format=format_name,start_time,duration:stream=index,codec_type,channels,channel_layout,start_time,duration:stream_tags=DURATION:stream_disposition=attached_pic")
	out, _, err := j.readAll(maxHeader, path, args...)
	if err != nil {
		return nil, err
	}
	var p probed
	if json.Unmarshal(out, &p) != nil {
		return nil, errGarbage
	}
	h := &header{sound: -1, video: -1, mov: strings.Contains(p.Format.Name, "mov,"), duration: seconds(number(p.Format.Duration)), start: number(p.Format.Start)}
	for _, s := range p.Streams {
		switch {
		case s.Type == "audio" && h.sound < 0:
			h.sound, h.channels, h.layout = s.Index, s.Channels, s.Layout
			h.delay = seconds(number(s.Start) - h.start)
			h.end = s.end(h)
		case s.Type == "video" && h.video < 0 && s.Disposition.Picture == 0:
			h.video = s.Index
		}
	}
	switch {
	case h.sound < 0:
		return nil, errNoSound
	case h.channels < 1 && !j.thorough:
		j.thorough = true
		return j.header()
	case h.channels < 1:
		return nil, errNoCodec
	case h.channels > maxChannels:
		return nil, fmt.Errorf("the file has %d channels of sound, and ffmpeg averages %d at most: convert it to fewer", h.channels, maxChannels)
	}
	if h.video >= 0 && !h.mov {
		// Unless there is an index, ffprobe looks at the first seconds alone. A sound
		// that begins later seems to begin with the file.
		if h.delay, err = j.delay(h); err != nil {
			return nil, err
		}
	}
	if h.duration > j.opts.MaxDuration || h.delay > j.opts.MaxDuration {
		return nil, j.tooLong()
	}
	return h, nil
}

// delay returns when the first packet of the sound is to be heard, from the start of the
// file.
func (j *job) delay(h *header) (time.Duration, error) {
	path, err := j.ffprobe()
	if err != nil {
		return 0, err
	}
	args, err := j.input("error", true)
	if err != nil {
		return 0, err
	}
	args = append(args, "-select_streams", strconv.Itoa(h.sound), "-read_intervals", "%+#1", "-show_entries", "packet=pts_time", "-of", "csv=p=0")
	out, _, err := j.readAll(maxHeader, path, args...)
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), ",")
	at, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return h.delay, nil // the packet does not say it
	}
	return seconds(at - h.start), nil
}

// end returns when the stream ends, as the file says it.
func (s *probedStream) end(h *header) time.Duration {
	var hours, minutes int
	var rest float64
	if length := seconds(number(s.Duration)); length > 0 {
		return min(h.delay+length, h.duration)
	} else if n, err := fmt.Sscanf(s.Tags.End, "%d:%d:%f", &hours, &minutes, &rest); err == nil && n == 3 {
		return min(seconds(float64(hours)*3600+float64(minutes)*60+rest-h.start), h.duration)
	}
	return h.duration // of the longest stream
}

func (j *job) tooLong() error {
	return fmt.Errorf("the file is longer than %v, which is the limit here: cut it into shorter ones", j.opts.MaxDuration)
}

// input returns the arguments that name the file and say what may be done with it. level
// is how much the program says. mov says that it may be a QuickTime file; ffmpeg refuses
// options for another kind of file, and ffprobe does not.
func (j *job) input(level string, mov bool) ([]string, error) {
	url, err := inputURL(j.file)
	if err != nil {
		return nil, err
	}
	args := []string{
		"-hide_banner", "-v", level, "-max_alloc", "536870912", "-protocol_whitelist", "file", "-format_whitelist", containers, "-max_pixels", "134217728",
	}
	if j.thorough {
		args = append(args, "-analyzeduration", "600000000", "-probesize", "268435456") // microseconds, bytes
	}
	if mov {
		args = append(args, "-enable_drefs", "0", "-use_absolute_path", "0")
	}
	return append(args, "-i", url), nil
}

// keyframes returns the times of the keyframes of the video stream. What counts is the
// mark of the packet, so that nothing is decoded.
func (j *job) keyframes(h *header) ([]time.Duration, error) {
	path, err := j.ffprobe()
	if err != nil {
		return nil, err
	}
	args, err := j.input("error", true)
	if err != nil {
		return nil, err
	}
	args = append(args, "-select_streams", strconv.Itoa(h.video), "-show_entries", "packet=pts_time,dts_time,flags", "-of", "compact=p=0")
	p, err := j.start(path, args...)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	times := &thinned{max: j.opts.MaxKeyframes}
	output := &io.LimitedReader{R: p, N: maxPackets}
	lines := bufio.NewScanner(output)
	lines.Buffer(make([]byte, 64<<10), 64<<10)
	for lines.Scan() {
		if at, ok := keyframe(lines.Text()); ok {
			times.add(max(seconds(at-h.start), 0))
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong), output.N == 0:
		return nil, errGarbage
	case err != nil:
		return nil, err
	}
	if err := p.wait(); err != nil {
		return nil, err
	}
	slices.Sort(times.kept)
	return slices.Compact(times.kept), nil
}

// keyframe reads a line such as "pts_time=2.000000|dts_time=1.920000|flags=K__". D stands
// for a packet that is not shown.
func keyframe(line string) (at float64, ok bool) {
	var pts, dts, flags string
	for field := range strings.SplitSeq(line, "|") {
		switch key, value, _ := strings.Cut(field, "="); key {
		case "pts_time":
			pts = value
		case "dts_time":
			dts = value
		case "flags":
			flags = value
		}
	}
	if !strings.Contains(flags, "K") || strings.Contains(flags, "D") {
		return 0, false
	}
	if pts == "" || pts == "N/A" {
		pts = dts // AVI has no other
	}
	at, err := strconv.ParseFloat(pts, 64)
	return at, err == nil
}

// thinned keeps at most max times: one of each two, four, eight... if there are more.
type thinned struct {
	max   int
	every int // less one
	seen  int
	kept  []time.Duration
}

func (t *thinned) add(at time.Duration) {
	if t.seen&t.every == 0 {
		if len(t.kept) == t.max {
			for i := range (t.max + 1) / 2 {
				t.kept[i] = t.kept[2*i]
			}
			t.kept = t.kept[:(t.max+1)/2]
			t.every = 2*t.every + 1
		}
		if t.seen&t.every == 0 {
			t.kept = append(t.kept, at)
		}
	}
	t.seen++
}

// number reads one of ffprobe's numbers; 0 if it is unknown.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// seconds is a duration of at least 0 and at most what a Duration can hold.
func seconds(s float64) time.Duration {
	if s = max(s, 0); s >= math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return time.Duration(math.Round(s * 1e9))
}
