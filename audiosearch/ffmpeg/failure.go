package ffmpeg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

var (
	errNoSound  = sound.BadMedia(errors.New("the file has no sound: leave it out, or give it a sound track"))
	errNoMedia  = sound.BadMedia(errors.New("the file is no sound or video that ffmpeg can read, or it is damaged: copy it again, or convert it to WAV"))
	errRefused  = sound.BadMedia(errors.New("the file is of a kind that is not read here, such as a list of other files: give the recording itself"))
	errNoIndex  = sound.BadMedia(errors.New("the file ends before its index, without which it cannot be read: copy it again, completely"))
	errNoCodec  = errors.New("this ffmpeg cannot decode the sound: convert the file to WAV, or install an ffmpeg with all decoders") // then the same file can be read
	errNoMemory = sound.BadMedia(errors.New("to read the file takes more memory than is allowed: it is damaged, or has to be converted"))
	errGarbage  = errors.New("ffmpeg: ffprobe gave an answer that makes no sense: see whether Options.FFprobe is the right program")
)

// said are sentences for what the programs say. The first one that is found counts.
var said = []struct {
	text string
	err  error
}{
	{"not on whitelist", errRefused},
	{"moov atom not found", errNoIndex},
	{"matches no streams", errNoSound},
	{"does not contain any stream", errNoSound},
	{"Invalid data found when processing input", errNoMedia},
	{"Decoder (codec", errNoCodec}, // ... not found
	{"no decoder found", errNoCodec},
	{"Cannot allocate memory", errNoMemory},
}

// failure says why a program failed, by what it wrote to its standard error.
func failure(stderr string, state *os.ProcessState) error {
	if killedByOthers(state) {
		return errors.New("ffmpeg was killed while it read the file: see whether this machine has enough memory, and try again")
	}
	for _, s := range said {
		if strings.Contains(stderr, s.text) {
			return s.err
		}
	}
	text := sentence(stderr)
	if text == "" {
		text = state.String()
	}
	return sound.BadMedia(fmt.Errorf("ffmpeg could not read the file (%s): convert it to WAV, or copy it again", text))
}

// maxSentence bounds what is passed on of the words of a program, in bytes.
const maxSentence = 160

// sentence makes one line without paths of the last thing that a program said.
func sentence(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	var words []string
	for _, word := range strings.Fields(lines[len(lines)-1]) {
		if strings.ContainsAny(word, `/\`) || strings.HasPrefix(word, "0x") {
			continue
		}
		words = append(words, word)
	}
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, strings.Join(words, " "))
	return strings.TrimRight(text[:min(len(text), maxSentence)], " .:")
}

// withoutPath removes the path from an error of package os.
func withoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
