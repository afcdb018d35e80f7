package excerpt

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// OggSound is the media type of sounds in Ogg files.
const OggSound = "audio/ogg"

// mediaTypes are what files are served as, by the ends of their names.
var mediaTypes = map[string]string{
	".aac": "audio/aac", ".aif": "audio/aiff", ".aiff": "audio/aiff", ".flac": "audio/flac", ".m4a": "audio/mp4", ".mp3": "audio/mpeg",
	".oga": OggSound, ".ogg": OggSound, ".opus": OggSound, ".wav": "audio/wav", ".weba": "audio/webm",
	".avi": "video/x-msvideo", ".m4v": "video/mp4", ".mkv": "video/x-matroska", ".mov": "video/quicktime", ".mp4": "video/mp4",
	".mpeg": "video/mpeg", ".mpg": "video/mpeg", ".ogv": "video/ogg", ".ts": "video/mp2t", ".webm": "video/webm",
}

// MediaType returns what a file is to be served as, by its name: a type of sounds or of
// videos, else application/octet-stream. So a page of somebody's that ends in .html does
// not become one of the host's.
func MediaType(file string) string {
	return cmp.Or(mediaTypes[strings.ToLower(path.Ext(file))], "application/octet-stream")
}

var unplayed = []string{".aif", ".aiff", ".asf", ".avi", ".flv", ".m2ts", ".mpeg", ".mpg", ".mts", ".mxf", ".ts", ".wma", ".wmv"}

// Unplayed reports whether no usual browser plays a file, by its name. Others may not be
// played either. A page can have [Sounds] in their places.
func Unplayed(file string) bool { return slices.Contains(unplayed, strings.ToLower(path.Ext(file))) }
