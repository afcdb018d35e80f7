package ffmpeg

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

const (
	minWidth, maxWidth = 16, 1920
	maxPicture         = 4 << 20 // bytes
	pictureTimeout     = 30 * time.Second
)

// Picture returns the frame that a video shows at a time, as a JPEG file that fits into a
// square of the width, 16 to 1920 pixels. It takes 30 seconds at most. A file without
// video, and a time behind its end, are errors.
func (m *Media) Picture(ctx context.Context, path string, at time.Duration, width int) ([]byte, error) {
	if at < 0 || width < minWidth || width > maxWidth {
		return nil, fmt.Errorf("ffmpeg: a picture needs a time of 0 or more, and a width of %d to %d", minWidth, maxWidth)
	}
	program, err := m.ffmpeg()
	if err != nil {
		return nil, err
	}
	j, err := m.open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer j.close()
	j.left = min(j.left, pictureTimeout)
	h, err := j.header()
	if err != nil {
		return nil, err
	}
	if h.video < 0 {
		return nil, sound.BadMedia(errors.New("the file has no pictures: it is sound alone"))
	}
	input, err := j.input("error", h)
	if err != nil {
		return nil, err
	}
	args := append([]string{"-nostdin", "-threads", "1", "-ss", strconv.FormatFloat(at.Seconds(), 'f', 6, 64)}, input...)
	size := strconv.Itoa(width)
	args = append(args, "-map", "0:"+strconv.Itoa(h.video), "-an", "-sn", "-dn", "-frames:v", "1", "-filter_threads", "1",
		"-vf", "scale="+size+":"+size+":force_original_aspect_ratio=decrease:force_divisible_by=2", "-threads", "1", "-c:v", "mjpeg", "-q:v", "4", "-f", "mjpeg", "pipe:1")
	picture, _, err := j.readAll(maxPicture, program, args...)
	if err != nil {
		return nil, err
	}
	if len(picture) == 0 {
		return nil, fmt.Errorf("ffmpeg: the video shows nothing at %v: it may end before", at)
	}
	return picture, nil
}
