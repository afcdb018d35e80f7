package excerpt

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// mediaTypes are what files are served as, by the ends of their names.
var mediaTypes = map[string]string{
	".aac": "audio/aac", ".aif": "audio/aiff", ".aiff": "audio/aiff", ".flac": "audio/flac", ".m4a": "audio/mp4", ".mp3": "audio/mpeg",
	".oga": "audio/ogg", ".ogg": "audio/ogg", ".opus": "audio/ogg", ".wav": "audio/wav", ".weba": "audio/webm",
	".avi": "video/x-msvideo", ".m4v": "video/mp4", ".mkv": "video/x-matroska", ".mov": "video/quicktime", ".mp4": "video/mp4",
	".mpeg": "video/mpeg", ".mpg": "video/mpeg", ".ogv": "video/ogg", ".ts": "video/mp2t", ".webm": "video/webm",
}

// MediaType returns the media type that a host may serve a file as, by the end of its name:
// audio/... or video/..., and for all others application/octet-stream. So a browser does not
// show somebody's .html file as a page of the host's.
func MediaType(file string) string {
	return cmp.Or(mediaTypes[strings.ToLower(path.Ext(file))], "application/octet-stream")
}

var unplayed = []string{
	".3g2", ".ac3", ".aif", ".aiff", ".amr", ".ape", ".asf", ".au", ".avi", ".dsf", ".dts", ".dv",
	".eac3", ".flv", ".gsm", ".gxf", ".m2t", ".m2ts", ".mj2", ".mp2", ".mpc", ".mpeg", ".mpg", ".mts",
	".mxf", ".nut", ".ra", ".rm", ".rmvb", ".snd", ".tak", ".ts", ".tta", ".vob", ".voc", ".w64",
	".wma", ".wmv", ".wtv", ".wv",
}

// Unplayed reports whether the end of a file's name says that no usual browser plays it. If
// not, a browser may still not play it. A page can offer [Sounds] in its place.
func Unplayed(file string) bool { return slices.Contains(unplayed, strings.ToLower(path.Ext(file))) }
