package ffmpeg

import (
	"bufio"
	"cmp"
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
	jumps    bool          // ffmpeg goes on where the clock of such a file jumps
	thorough bool          // the programs look further into the file than at its first seconds, since nothing is heard there
	guessed  bool          // duration, from the bit rate or from time stamps
	duration time.Duration // 0: unknown
	start    float64       // the file's clock at its start, in seconds
	sounds   []track       // in the order in which they are tried
	video    int           // number of the stream; -1: none
	unseen   bool          // the size of its pictures is not known
}

// track is a stream of sound.
type track struct {
	stream   int // its number
	channels int
	layout   string        // "5.1(side)"; "": unknown
	begin    time.Duration // of the sound, from the start of the file, as the header says it
	end      time.Duration // likewise; 0: the file does not say it
}

// ffprobe's JSON: numbers with a fraction are strings, and missing if they are unknown.
type (
	probed struct {
		Programs []struct {
			Streams []probedStream `json:"streams"`
		} `json:"programs"`
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
		Codec    string `json:"codec_name"`
		Channels int    `json:"channels"`
		Layout   string `json:"channel_layout"`
		Width    int    `json:"width"`
		Start    string `json:"start_time"`
		Duration string `json:"duration"`
		Tags     struct {
			End string `json:"DURATION"` // in Matroska: "00:01:30.040000000"
		} `json:"tags"`
		Disposition struct {
			Default int `json:"default"`
			Picture int `json:"attached_pic"`
		} `json:"disposition"`
	}
)

const (
	probedEntries = "program_stream=index,codec_type:format=format_name,start_time,duration:" +
		"stream=index,codec_type,codec_name,channels,channel_layout,width,start_time,duration:" +
		"stream_tags=DURATION:stream_disposition=default,attached_pic"

	maxHeader   = 1 << 20                // bytes of ffprobe's JSON
	maxPackets  = 2 << 30                // bytes of the list of packets, 60 each: 24 hours at 400 a second
	maxChannels = 64                     // of ffmpeg's filter pan
	minStart    = 100 * time.Millisecond // less is the delay of an encoder, which players skip
)

// header reads the header of the file, once for a file that does not change. A file
// without sound is an error.
func (j *job) header() (*header, error) {
	if h := j.headers.of(j.stat); h != nil {
		return h, j.within(h)
	}
	h, err := j.readHeader(false)
	if err == nil && (h.sounds[0].channels < 1 || h.unseen) {
		h, err = j.readHeader(true)
	}
	switch {
	case err != nil:
		return nil, err
	case h.sounds[0].channels < 1:
		return nil, errNoCodec
	case h.unseen: // of pictures without a size nothing can be shown, and ffmpeg refuses to copy them
		h.video = -1
	}
	j.headers.keep(j.stat, h)
	return h, j.within(h)
}

// within returns an error if a file is beyond the limits.
func (j *job) within(h *header) error {
	if !h.guessed && h.duration > j.maxDuration {
		return j.tooLong()
	}
	if n := h.sounds[0].channels; n > maxChannels {
		return fmt.Errorf("the file has %d channels of sound, and ffmpeg averages %d at most: convert it to fewer", n, maxChannels)
	}
	return nil
}

// readHeader asks ffprobe for the header.
func (j *job) readHeader(thorough bool) (*header, error) {
	path, err := j.ffprobe()
	if err != nil {
		return nil, err
	}
	h := &header{mov: true, thorough: thorough, video: -1}
	args, err := j.input("warning", h)
	if err != nil {
		return nil, err
	}
	out, warnings, err := j.readAll(maxHeader, path, append(args, "-of", "json", "-show_entries", probedEntries)...)
	if err != nil {
		return nil, err
	}
	var p probed
	if json.Unmarshal(out, &p) != nil {
		return nil, errGarbage
	}
	h.mov = strings.Contains(p.Format.Name, "mov,")
	h.jumps = slices.Contains([]string{"mpegts", "mpeg", "ogg"}, p.Format.Name)
	h.duration = seconds(number(p.Format.Duration))
	// ffprobe says by a warning alone that it has guessed a duration. Of the warnings of a
	// file with too many, the last ones are missing.
	h.guessed = h.jumps || strings.Contains(warnings, "Estimating duration") || len(warnings) == maxStderr
	h.start = number(p.Format.Start)
	h.choose(&p)
	if len(h.sounds) == 0 {
		return nil, errNoSound
	}
	return h, nil
}

// choose chooses the tracks: of the first program that has sound, if the file has several;
// pictures beside it are better than none.
func (h *header) choose(p *probed) {
	streams := p.Streams
	best := 0
	for _, program := range p.Programs {
		kinds := 0
		in := make(map[int]bool)
		for _, s := range program.Streams {
			in[s.Index] = true
			switch s.Type {
			case "audio":
				kinds |= 2
			case "video":
				kinds |= 1
			}
		}
		if kinds >= 2 && kinds > best {
			best = kinds
			streams = slices.DeleteFunc(slices.Clone(p.Streams), func(s probedStream) bool { return !in[s.Index] })
		}
	}
	sounds := slices.DeleteFunc(slices.Clone(streams), func(s probedStream) bool { return s.Type != "audio" })
	// The one that the file marks comes first, and one that this ffmpeg does not know last.
	slices.SortStableFunc(sounds, func(a, b probedStream) int {
		return cmp.Or(cmp.Compare(a.unknown(), b.unknown()), cmp.Compare(b.Disposition.Default, a.Disposition.Default))
	})
	var clocks []float64 // at the start of the streams that are read
	for _, s := range streams {
		if s.Type == "video" && s.Disposition.Picture == 0 {
			h.video, h.unseen = s.Index, s.Width == 0
			clocks = s.clock(clocks)
			break
		}
	}
	if len(sounds) > 0 {
		clocks = sounds[0].clock(clocks)
	}
	if h.jumps && len(clocks) > 0 { // other programs may have other clocks
		h.start = slices.Min(clocks)
	}
	for _, s := range sounds {
		t := track{stream: s.Index, channels: s.Channels, layout: s.Layout, begin: seconds(number(s.Start) - h.start)}
		if !h.guessed {
			t.end = s.end(h, number(p.Format.Start))
		}
		h.sounds = append(h.sounds, t)
	}
}

// clock appends the time at which a stream starts, if the header says it.
func (s *probedStream) clock(to []float64) []float64 {
	at, err := strconv.ParseFloat(s.Start, 64)
	if err != nil {
		return to
	}
	return append(to, at)
}

// beginning returns when the first frame of a sound is to be heard, from the start of the
// file. Unless there is an index, ffprobe looks at the first seconds alone, and a sound that
// begins later seems to begin with the file.
func (j *job) beginning(h *header, t *track) (time.Duration, error) {
	if h.video < 0 { // the file begins with its sound
		return t.begin, nil
	}
	path, err := j.ffmpeg()
	if err != nil {
		return 0, err
	}
	args, err := j.decoder(h)
	if err != nil {
		return 0, err
	}
	out, _, err := j.readAll(maxHeader, path, append(args[:len(args):len(args)],
		"-copyts", "-map", stream(t.stream), "-frames:a", "2", "-c:a", "pcm_s16le", "-f", "framecrc", "pipe:1")...)
	if err != nil {
		return 0, err
	}
	var list packetList
	var frames []packet
	for line := range strings.Lines(string(out)) {
		if p, ok := list.packet(strings.TrimSpace(line)); ok {
			frames = append(frames, p)
		}
	}
	if len(frames) == 0 {
		return t.begin, nil
	}
	begin := frames[0].at
	// Some recorders write a frame at 0 for the delay of their encoder, and the sound later.
	// The resampler puts such a frame just before the sound.
	if last := frames[len(frames)-1]; last.at > begin+1 {
		begin = last.at - frames[0].lasts
	}
	return max(t.begin, seconds(begin-h.start)), nil
}

// unknown is 1 if this ffmpeg cannot decode the stream, as far as ffprobe says it.
func (s *probedStream) unknown() int {
	if s.Channels < 1 || s.Codec == "unknown" {
		return 1
	}
	return 0
}

// end returns when the stream ends, as the file says it. Some files say it by their own
// clock, and others by the time from their start: the earlier time counts.
func (s *probedStream) end(h *header, start float64) time.Duration {
	end := h.duration // of the longest stream, which may be the pictures
	if h.video >= 0 {
		end = 0
	}
	var hours, minutes int
	var rest float64
	if length := seconds(number(s.Duration)); length > 0 {
		end = min(seconds(number(s.Start)-start)+length, h.duration)
	} else if n, err := fmt.Sscanf(s.Tags.End, "%d:%d:%f", &hours, &minutes, &rest); err == nil && n == 3 {
		end = min(seconds(float64(hours)*3600+float64(minutes)*60+rest), h.duration)
	}
	return max(end-seconds(start), 0)
}

func (j *job) tooLong() error {
	return fmt.Errorf("the file is longer than %v, which is the limit here: cut it into shorter ones", j.maxDuration)
}

// input returns the arguments that name the file and say what may be done with it. level
// is how much the program says.
func (j *job) input(level string, h *header) ([]string, error) {
	url, err := inputURL(j.file)
	if err != nil {
		return nil, err
	}
	args := []string{
		"-hide_banner", "-v", level, "-max_alloc", "536870912", "-protocol_whitelist", "file", "-format_whitelist", containers, "-max_pixels", "134217728",
	}
	if h.thorough {
		args = append(args, "-analyzeduration", "600000000", "-probesize", "268435456") // microseconds, bytes
	}
	if h.mov { // ffmpeg refuses options for another kind of file, and ffprobe does not
		args = append(args, "-enable_drefs", "0", "-use_absolute_path", "0")
	}
	return append(args, "-i", url), nil
}

// maxJump is how far the clock of a broadcast may jump ahead and still be believed, in
// seconds: a receiver had no signal meanwhile. A longer jump is another recording, which goes
// on where the one before ends.
const maxJump = "1800"

// decoder returns the arguments of ffmpeg that name the file.
func (j *job) decoder(h *header) ([]string, error) {
	input, err := j.input("error", h)
	if err != nil {
		return nil, err
	}
	return append([]string{"-nostdin", "-threads", "1", "-dts_delta_threshold", maxJump}, input...), nil
}

// stream names a stream for ffmpeg's option -map.
func stream(number int) string { return "0:" + strconv.Itoa(number) }

// goOn is an expression of ffmpeg's for times that never jump back by a second: where
// several files were joined, the next one goes on where the one before ends. It takes the
// name of a time, and a duration. The result, ld(0), is to be added to the times.
const goOn = "st(2,%[1]s+ld(0));st(0,ld(0)+if(gt(N,0)*lt(ld(2),ld(1)-1/TB),ld(1)-ld(2),0));st(1,%[1]s+ld(0)+%[2]s);"

// keyframes returns the times of the keyframes of the video stream, on the clock of the
// sound: ffmpeg is told to copy both. The mark of the packet counts, so that nothing is
// decoded.
func (j *job) keyframes(h *header) ([]time.Duration, error) {
	path, err := j.ffmpeg()
	if err != nil {
		return nil, err
	}
	args, err := j.decoder(h)
	if err != nil {
		return nil, err
	}
	decoded := fmt.Sprintf(goOn, "DTS", "0") // pictures are shown in another order
	p, err := j.start(path, append(args,
		"-map", stream(h.video), "-c", "copy", "-bsf:v", "setts=pts='"+decoded+"PTS+ld(0)':dts='"+decoded+"DTS+ld(0)'", "-f", "framecrc", "pipe:1",
		"-map", stream(h.sounds[0].stream), "-c", "copy", "-f", "null", "-")...)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	list := &packetList{times: thinned{max: j.maxKeyframes}}
	output := &io.LimitedReader{R: p, N: maxPackets}
	lines := bufio.NewScanner(output)
	lines.Buffer(make([]byte, 64<<10), 64<<10)
	for lines.Scan() {
		line := lines.Text()
		if list.add(line); list.base == 0 && !strings.HasPrefix(line, "#") {
			return nil, errGarbage
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
	slices.Sort(list.times.kept)
	return slices.Compact(list.times.kept), nil
}

// packetList reads the output of ffmpeg's muxer framecrc: "#tb 0: 1/90000" is the time
// base, and a packet is "0, dts, pts, duration, size, checksum", with its flags
// (", F=0x5") unless it is a keyframe without others.
type packetList struct {
	base  float64 // seconds
	times thinned
}

const (
	packetKey     = 1 << 0
	packetDiscard = 1 << 2 // it is not shown
)

// add adds the time of a packet that is a keyframe.
func (l *packetList) add(line string) {
	if p, ok := l.packet(line); ok && p.flags&(packetKey|packetDiscard) == packetKey {
		l.times.add(seconds(p.at))
	}
}

// packet is a packet of a list.
type packet struct {
	at, lasts float64 // seconds
	flags     int64
}

func (l *packetList) packet(line string) (p packet, ok bool) {
	if base, ok := strings.CutPrefix(line, "#tb 0: "); ok {
		var num, den float64
		if n, err := fmt.Sscanf(base, "%f/%f", &num, &den); err == nil && n == 2 && den > 0 {
			l.base = num / den
		}
		return p, false
	}
	fields := strings.Split(line, ",")
	if len(fields) < 6 || l.base == 0 {
		return p, false
	}
	p.flags = packetKey
	for _, field := range fields[6:] {
		if hex, ok := strings.CutPrefix(strings.TrimSpace(field), "F=0x"); ok {
			p.flags, _ = strconv.ParseInt(hex, 16, 64)
		}
	}
	units, err := strconv.ParseInt(strings.TrimSpace(fields[2]), 10, 64)
	if err != nil || units == math.MinInt64 { // some kinds of files have no other time
		units, err = strconv.ParseInt(strings.TrimSpace(fields[1]), 10, 64)
	}
	lasts, _ := strconv.ParseInt(strings.TrimSpace(fields[3]), 10, 64)
	p.at, p.lasts = float64(units)*l.base, float64(lasts)*l.base
	return p, err == nil && units != math.MinInt64
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
