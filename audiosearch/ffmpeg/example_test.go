package ffmpeg_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seed-6363c74e/mortise/audiosearch/ffmpeg"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// WAV files need no program; everything else does.
func Example() {
	inGo := wav.Media{}
	byProgram, err := ffmpeg.New(&ffmpeg.Options{FFprobe: "/nowhere/ffprobe"}) // as if it were not installed
	if err != nil {
		fmt.Println(err)
		return
	}
	media := sound.FirstMedia(inGo, byProgram)

	file, err := os.CreateTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(file.Name())
	if err := errors.Join(wav.Encode(file, 16000, make([]float32, 8000)), file.Close()); err != nil {
		fmt.Println(err)
		return
	}
	info, err := media.Probe(context.Background(), file.Name())
	fmt.Println(info.Duration, err)

	_, err = media.Probe(context.Background(), "example_test.go")
	fmt.Println(errors.Is(err, ffmpeg.ErrNotInstalled), err)
	// Output:
	// 500ms <nil>
	// true ffmpeg is missing here: install ffmpeg (Debian: apt-get install ffmpeg), or convert the file to WAV
}
