package wav_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// A second of 440 Hz is written at 44.1 kHz, and read at the rate of a model.
func Example() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "tone.wav")
	file, err := os.Create(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	tone := make([]float32, 44100)
	for i := range tone {
		tone[i] = 0.5 * float32(math.Sin(2*math.Pi*440*float64(i)/44100))
	}
	if err := errors.Join(wav.Encode(file, 44100, tone), file.Close()); err != nil {
		fmt.Println(err)
		return
	}

	media := wav.Media{}
	ctx := context.Background()
	info, err := media.Probe(ctx, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.Duration, info.HasVideo)

	samples, power := 0, 0.0
	for block, err := range media.PCM(ctx, path, 16000) {
		if err != nil {
			fmt.Println(err)
			return
		}
		samples += len(block)
		for _, v := range block {
			power += float64(v) * float64(v)
		}
	}
	fmt.Printf("%d samples of %.3f RMS\n", samples, math.Sqrt(power/float64(samples)))
	// Output:
	// 1s false
	// 16000 samples of 0.354 RMS
}

// What is no WAV file is left to another Media, such as that of package ffmpeg.
func ExampleMedia_Probe() {
	media := wav.Media{}
	_, err := media.Probe(context.Background(), "example_test.go")
	fmt.Println(errors.Is(err, sound.ErrFormat))
	fmt.Println(err)
	// Output:
	// true
	// audiosearch: the kind of file is not supported: it is no WAV file; convert it to WAV, or install ffmpeg
}
