package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// SyncOptions say what [Sync] enters and removes. The zero value means the
// defaults. The functions get the paths of files in the folder, such as "2024/call.mp4".
// They must give the same answer each time.
type SyncOptions struct {
	// Under is the folder of the catalog that the files stand in: with "calls", the file
	// "a.mp4" has the path "calls/a.mp4" there. Only videos with such paths belong to the
	// folder; no other one is changed, or counts as gone. "" is the root: every video belongs to
	// the folder whose path could be one of its files.
	Under string

	// Match says which files are videos. Videos of the catalog that it refuses do not
	// belong to the folder. nil: IsMediaFile.
	Match func(path string) bool

	// ID returns the ID of a new video. A file that a video of the catalog has already
	// keeps that video's ID. Of several files with one ID the first by path is entered;
	// the others are skipped. nil: the path in the catalog, or its first 211 bytes and a
	// digest if it has over 255.
	ID func(path string) string

	// Metadata returns the metadata of a video, in place of what the catalog has. It is
	// called for each file, one after the other. A failure skips the file. info follows
	// links. nil: new videos have none, and the others keep theirs.
	Metadata func(path string, info fs.FileInfo) (metadata.Map, error)

	// Delete removes the videos whose files are gone, with their scores. Unless DeleteAll
	// is set, it never removes every video of the folder: where none of their files is
	// there, a disk may not be mounted.
	Delete, DeleteAll bool

	// Max is how many files there may be, how many folders, and how many videos that are
	// gone: 1,000,000. More is an error, and nothing is changed.
	Max int
}

// How long the file system and Metadata may take, and how long they may ignore the end of
// their context.
const (
	patience = time.Hour
	grace    = 5 * time.Second
)

// Synced is what Sync did, and what it found. The lists have [SyncOptions.Max]
// elements at most.
type Synced struct {
	Added     []string      // the IDs of the videos that are new
	Changed   []string      // the IDs of those that have another path or other metadata now
	Gone      []string      // the IDs of those whose files are not there, in order
	Deleted   int           // how many of Gone were removed: the first ones
	Unchanged int           // how many are as they were
	Unseen    int           // how many were left as they are because of what was skipped
	Skipped   []FileProblem // what could not be entered or read, by path
}

// FileProblem says why a file or a folder was skipped.
type FileProblem struct {
	Path    string // in the folder
	Message string // what to do
}

// Sync brings the catalog of a dataset in line with a folder of media files: new
// files are added, and videos whose path or metadata are others are changed. Videos whose
// files are gone are reported, and removed only if [SyncOptions.Delete] says so. A second
// call finds everything unchanged. Whether the content of a file has changed, and its
// scores are too old, [audiosearch.Service.Ingest] finds: call it next.
//
// Files are known by their paths. A file that was moved is a new video, and the old one
// is gone, unless [SyncOptions.ID] gives both paths the same ID: then the video has
// another path, keeps its metadata and loses its scores.
//
// A file or a folder that cannot be read, and a file that cannot be a video, is skipped.
// A link to a file is a file; one to a folder is skipped, so there are no loops. No video
// of what was skipped, or of anything under it, is gone.
//
// The dataset must be there ([audiosearch.ErrDatasetNotFound]): see
// [audiosearch.Service.EnsureDataset].
// Nothing is changed if the folder itself cannot be read ([mortise.ErrUnavailable]), if
// it has no file that matches ([ErrNoFiles]), or if Delete would remove everything
// ([ErrAllGone]).
// Whatever else fails, the end of ctx included, Synced says what was done until then.
// What is missing, the next call does.
//
// The file system may take an hour to read one folder or one link, and Metadata as long for
// one file. Then Sync ends without the call that hangs: that is ErrUnavailable, too.
//
// A panic of Metadata skips the file. After one of the file system, or of Match or ID while
// the folder is read, the error is mortise.ErrUnavailable. One of Match for a video of the
// catalog goes on to the caller.
//
// Sync keeps in memory about 100 bytes for each file, its path, and the IDs of
// Synced; in between, the entries of one folder, and 500 videos. It reads the catalog
// twice at most. Two calls at a time over one folder break nothing, but with different
// options the last one wins.
func Sync(
	ctx context.Context, s *audiosearch.Service, org string, by mortise.Actor, dataset string,
	files fs.FS, opts *SyncOptions,
) (Synced, error) {
	y := &folderSync{s: s, org: org, by: by, dataset: dataset, files: files}
	if opts != nil {
		y.opts = *opts
	}
	if err := y.check(); err != nil {
		return Synced{}, err
	}
	err := y.run(ctx)
	slices.SortFunc(y.out.Skipped, func(a, b FileProblem) int {
		return strings.Compare(a.Path, b.Path)
	})
	return y.out, err
}

// mediaExtensions are the ends of the files that are entered by default.
var mediaExtensions = []string{
	".3g2", ".3gp", ".aac", ".ac3", ".aif", ".aiff", ".amr", ".ape", ".asf", ".au", ".avi",
	".caf", ".dsf", ".dts", ".dv", ".eac3", ".f4v", ".flac", ".flv", ".gsm", ".gxf", ".m2t",
	".m2ts", ".m4a", ".m4b", ".m4v", ".mj2", ".mka", ".mkv", ".mov", ".mp2", ".mp3", ".mp4",
	".mpc", ".mpeg", ".mpg", ".mts", ".mxf", ".nut", ".oga", ".ogg", ".ogv", ".opus", ".qt",
	".ra", ".rm", ".rmvb", ".snd", ".tak", ".ts", ".tta", ".vob", ".voc", ".w64", ".wav",
	".weba", ".webm", ".wma", ".wmv", ".wtv", ".wv",
}

// IsMediaFile reports whether a path ends as sounds and videos do that package ffmpeg
// reads: .3g2, .3gp, .aac, .ac3, .aif, .aiff, .amr, .ape, .asf, .au, .avi, .caf, .dsf,
// .dts, .dv, .eac3, .f4v, .flac, .flv, .gsm, .gxf, .m2t, .m2ts, .m4a, .m4b, .m4v,
// .mj2, .mka, .mkv, .mov, .mp2, .mp3, .mp4, .mpc, .mpeg, .mpg, .mts, .mxf, .nut, .oga,
// .ogg, .ogv, .opus, .qt, .ra, .rm, .rmvb, .snd, .tak, .ts, .tta, .vob, .voc, .w64,
// .wav, .weba, .webm, .wma, .wmv, .wtv or .wv, in small or capital letters. A path
// with a part that begins with a dot is not one: such files are hidden, or a system
// keeps them beside the real ones.
func IsMediaFile(file string) bool {
	if strings.HasPrefix(file, ".") || strings.Contains(file, "/.") {
		return false
	}
	return slices.Contains(mediaExtensions, strings.ToLower(path.Ext(file)))
}

// folderSync is one call of Sync.
type folderSync struct {
	s            *audiosearch.Service
	org, dataset string
	by           mortise.Actor
	files        fs.FS
	opts         SyncOptions
	prefix       string // what stands before the path of a file in the catalog

	found   []foundFile // by path
	byID    []int32     // the places of found, by ID and then by path
	skipped map[string]struct{}
	present int // videos whose files are there
	moves   int // files that are the new places of videos
	out     Synced
}

// foundFile is a file that is, or is to be, a video.
type foundFile struct {
	path, id string // in the catalog
	state    fileState
}

type fileState uint8

const (
	fileUnknown fileState = iota // no video has it, and none has its ID
	fileTaken                    // no video has it, and none may get its ID
	fileNew                      // to be added
	fileMoved                    // to be the new path of the video with its ID
	fileThere                    // a video has it
)

const defaultMaxFiles = 1_000_000

var (
	errTooManyFiles = errors.New("audiosearch: the folder is too large: " +
		"raise SyncOptions.Max, or sync its parts")
	errTooManyGone = errors.New("audiosearch: too many videos are gone: " +
		"check that the folder is the right one, or raise SyncOptions.Max")
)

// maxPath bounds a video's path, in bytes.
const maxPath = 4096

// check fills in defaults and returns what is wrong with the arguments.
func (y *folderSync) check() error {
	var wrong []mortise.Problem
	add := func(field, message string) {
		at := mortise.Path{{Field: field}}
		wrong = append(wrong, mortise.Problem{Path: at, Message: message})
	}
	if y.s == nil {
		add("service", "must not be nil")
	}
	if y.files == nil {
		add("files", "must not be nil")
	}
	o := &y.opts
	if under := o.Under; under != "" {
		switch {
		case len(under) >= maxPath:
			add("under", fmt.Sprintf("must have less than %d bytes", maxPath))
		case under == "." || !fs.ValidPath(under) || !validText(under):
			add("under", `must be the path of a folder, such as "calls/2024", or empty`)
		}
		y.prefix = under + "/"
	}
	if wrong != nil {
		return &mortise.ValidationError{Problems: wrong}
	}
	if o.Match == nil {
		o.Match = IsMediaFile
	}
	if o.Max <= 0 {
		o.Max = defaultMaxFiles
	}
	return nil
}

func (y *folderSync) run(ctx context.Context) error {
	// The walk may take long: whoever names a wrong dataset should not wait for it.
	if _, err := y.s.Dataset(ctx, y.org, y.dataset); err != nil {
		return err
	}
	if err := y.walk(ctx); err != nil {
		return err
	}
	if len(y.found)+len(y.skipped) == 0 && !y.opts.DeleteAll {
		return ErrNoFiles
	}
	gone, err := y.look(ctx)
	if err != nil {
		return err
	}
	y.decide(gone)
	if y.opts.Delete && !y.opts.DeleteAll && len(y.out.Gone) > 0 && y.present+y.moves == 0 {
		return ErrAllGone
	}
	if y.opts.Metadata != nil || y.moves > 0 {
		if err := y.change(ctx); err != nil {
			return err
		}
	} else {
		y.out.Unchanged = y.present
	}
	if err := y.add(ctx); err != nil {
		return err
	}
	if y.opts.Delete {
		return y.remove(ctx)
	}
	return nil
}

// look reads the catalog, notes which files have videos, and returns the IDs of the
// videos that have no files.
func (y *folderSync) look(ctx context.Context) (gone []string, err error) {
	for v, err := range y.s.Videos(ctx, y.org, y.dataset) {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		at, there := y.find(v.Path)
		if there {
			y.found[at].state = fileThere
			y.present++
		} else if ours := y.owns(v.Path); ours && !y.hidden(v.Path) {
			if gone = append(gone, v.ID); len(gone) > y.opts.Max {
				return nil, errTooManyGone
			}
			continue
		} else if ours {
			y.out.Unseen++
		}
		for _, i := range y.withID(v.ID) {
			if f := &y.found[i]; f.state == fileUnknown {
				f.state = fileTaken
			}
		}
	}
	return gone, nil
}

// owns reports whether a video with the path belongs to the folder.
func (y *folderSync) owns(path string) bool {
	rest, ok := strings.CutPrefix(path, y.prefix)
	return ok && rest != "." && fs.ValidPath(rest) && y.opts.Match(rest)
}

// hidden reports whether the path, or a folder that it is in, was skipped.
func (y *folderSync) hidden(file string) bool {
	if len(y.skipped) == 0 {
		return false
	}
	for at := y.inFolder(file); at != "."; at = path.Dir(at) {
		if _, ok := y.skipped[at]; ok {
			return true
		}
	}
	return false
}

// inFolder is the path in the folder of what has the path in the catalog.
func (y *folderSync) inFolder(path string) string { return path[len(y.prefix):] }

// find returns the place of the file with the path in the catalog.
func (y *folderSync) find(path string) (int, bool) {
	return slices.BinarySearchFunc(y.found, path, func(f foundFile, path string) int {
		return strings.Compare(f.path, path)
	})
}

// withID returns the places of the files that have the ID.
func (y *folderSync) withID(id string) []int32 {
	from, _ := slices.BinarySearchFunc(y.byID, id, func(i int32, id string) int {
		return strings.Compare(y.found[i].id, id)
	})
	to := from
	for to < len(y.byID) && y.found[y.byID[to]].id == id {
		to++
	}
	return y.byID[from:to]
}

// decide says what becomes of the files without videos, and of the videos without files.
func (y *folderSync) decide(gone []string) {
	first := -1 // the new file with the ID that was looked at last
	for _, i := range y.byID {
		f := &y.found[i]
		problem := name.Problem(f.id)
		switch {
		case f.state == fileUnknown && problem != "":
			y.skip(y.inFolder(f.path), "its ID "+problem+": have SyncOptions.ID give it another one")
			f.state = fileTaken
		case f.state == fileTaken:
			y.skip(y.inFolder(f.path),
				"its ID is that of another video: have SyncOptions.ID give it one of its own")
		case f.state != fileUnknown:
		case first >= 0 && y.found[first].id == f.id:
			y.skip(y.inFolder(f.path), "its ID is that of "+y.inFolder(y.found[first].path)+
				": have SyncOptions.ID give each file one of its own")
			f.state = fileTaken
		default:
			f.state = fileNew
			first = int(i)
		}
	}
	for _, id := range gone {
		same := y.withID(id)
		to := slices.IndexFunc(same, func(i int32) bool { return y.found[i].state == fileNew })
		if to < 0 {
			y.out.Gone = append(y.out.Gone, id)
			continue
		}
		y.found[same[to]].state = fileMoved
		y.moves++
	}
}
