package provision

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/vault"
)

// Document is a provisioning document. It is for one goroutine at a time.
type Document struct {
	file     string // as the operator named it
	data     []byte
	places   map[string]int  // by path: where what stands under a key of ours begins, in bytes
	problems []docProblem    // the first maxKept of all
	unkept   int             // how many problems there are besides
	bad      map[string]bool // by path: something is wrong with it, or with something in it

	sources   map[string]string      // by path of a secret: the variable or the file that it is from
	variables []string               // those of them that are variables
	exposed   map[string]fs.FileMode // files with secrets that others can read

	rehearsing bool   // it is applied to services that hold nothing
	against    string // begins what is wrong with the vaults
	log        *slog.Logger
	deleted    map[[2]string]bool // organizations and vaults that were deleted, and noted
	datasets   []Dataset          // that were applied

	contents contents
}

// contents are all that a document says. A json tag is a key; reader.go says what the
// types mean, and the services whether the values make sense.
type contents struct {
	Organizations []organizationDoc `json:"organizations"`
}

// Error is what is wrong with a document.
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

func errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Open reads the document of a file, as far as it is JSON of the right shape that all
// readers take for the same. What else is wrong with it Rehearse and Apply say. Secrets
// may be in env, which is as os.Environ returns it. The error is an [*Error].
func Open(file string, env []string) (*Document, error) {
	data, exposed, err := readFile(file, maxDocument)
	if err != nil {
		return nil, &Error{err}
	}
	d, err := Parse(file, data, env)
	if err == nil && exposed != 0 {
		d.exposed[file] = exposed
	}
	return d, err
}

// Format prints the name of the document's file through every verb, and no secret.
func (d *Document) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "the document "+d.file) }

// Variables are the names of the environment variables that the document has secrets
// from.
func (d *Document) Variables() []string { return slices.Clone(d.variables) }

// Exposed are the files that others than their owner can read or write, with their
// modes: the document, which holds secrets and the values of vaults, and those that it
// has secrets from.
func (d *Document) Exposed() map[string]fs.FileMode { return maps.Clone(d.exposed) }

// Len is how many organizations the document has.
func (d *Document) Len() int { return len(d.contents.Organizations) }

type organizationDoc struct {
	place
	ID            string           `json:"id" unique:"id"`
	SetupComplete bool             `json:"setup_complete"`
	APIKeys       []apiKeyDoc      `json:"api_keys"`
	Collections   []collectionDoc  `json:"doc_collections"`
	RBAC          bool             `json:"rbac_enabled"`
	AccessTokens  []accessTokenDoc `json:"access_tokens"`
	Clients       []clientDoc      `json:"clients"`
	Invitations   []invitationDoc  `json:"invitations"`
	Vaults        []vaultDoc       `json:"vaults"`
	Datasets      []datasetDoc     `json:"datasets"`
}

type apiKeyDoc struct {
	place
	Key     secretText `json:"key"`
	Revoked bool       `json:"revoked"`
}

type collectionDoc struct {
	ID    uuid.UUID `json:"id" unique:"id"`
	Ready bool      `json:"ready"`
}

type accessTokenDoc struct {
	place
	Token   secretText    `json:"token"`
	Subject string        `json:"subject"`
	Roles   []access.Role `json:"roles"` // none: full access
	Revoked bool          `json:"revoked"`
}

type clientDoc struct {
	place
	ID     string        `json:"client_id" unique:"id"`
	Secret secretText    `json:"client_secret"`
	Name   string        `json:"name"`
	Roles  []access.Role `json:"roles"`
}

type invitationDoc struct {
	place
	ID      string `json:"invitation_id" unique:"id"`
	Inviter struct {
		Name string `json:"name"`
	} `json:"inviter"`
	Invitee struct {
		Email string        `json:"email"`
		Name  string        `json:"name"`
		Roles []access.Role `json:"roles"`
	} `json:"invitee"`
	Expires time.Duration `json:"expires_in,omitempty"` // from its creation; 0 for the default
}

type vaultDoc struct {
	place
	ID      string        `json:"id" unique:"id"`
	Tables  []vault.Table `json:"tables"`
	Records []recordDoc   `json:"records"`
}

type recordDoc struct {
	place
	Table  string              `json:"table"`
	Fields map[string]fieldDoc `json:"fields"` // by column
}

type fieldDoc struct {
	place
	Value vault.Value
}

type datasetDoc struct {
	place
	ID     string     `json:"id" unique:"id"`
	Videos []videoDoc `json:"videos"`
}

type videoDoc struct {
	place
	ID       string       `json:"id" unique:"id"`
	Path     mediaPath    `json:"path"`
	Metadata metadata.Map `json:"metadata,omitempty"`
}

// place is where a value stands in a document. The zero value is nowhere.
type place struct {
	offset int    // in bytes
	path   string // as in organizations[0].id; "" for the document
}

func (p *place) at() place         { return *p }
func (p *place) setPlace(at place) { *p = at }

// in returns the path of a member.
func (p place) in(key string) string { return strings.TrimPrefix(p.path+"."+key, ".") }

// parent returns the path of the object or list that a value is in.
func parent(path string) string { return path[:max(0, strings.LastIndexAny(path, ".["))] }

// docProblem is something that is wrong with the document. It says where and what, and
// never repeats a value, which might be a secret.
type docProblem struct {
	offset int
	text   string
}

const (
	maxProblems = 10   // bounds an error message
	maxKept     = 1000 // bounds what is read and sorted for it
)

// fail notes that something is wrong with a value.
func (d *Document) fail(at place, format string, args ...any) {
	text := cmp.Or(at.path, "the document") + ": " + d.sources[at.path] + fmt.Sprintf(format, args...)
	if len(d.problems) < maxKept {
		d.problems = append(d.problems, docProblem{at.offset, text})
	} else {
		d.unkept++
	}
	d.spoil(at.path)
}

// lacks reports whether one of these parts of an item is bad or missing, of no parts
// whether anything is wrong with the item.
func (d *Document) lacks(item place, parts []string) bool {
	if len(parts) == 0 {
		return d.bad[item.path]
	}
	return slices.ContainsFunc(parts, func(part string) bool { return d.bad[item.in(part)] })
}

// spoil marks a value, and what it is in, as not to be applied.
func (d *Document) spoil(path string) {
	for ; path != "" && !d.bad[path]; path = parent(path) {
		d.bad[path] = true
	}
}

// nearest returns where a path leads to, or what comes closest to it.
func (d *Document) nearest(path string) place {
	for known := path; known != ""; known = parent(known) {
		if offset, ok := d.places[known]; ok {
			return place{offset, path}
		}
	}
	return place{0, path}
}

// err puts all problems on one line, in the order of the document. The error is an
// [*Error].
func (d *Document) err() error {
	if len(d.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(d.problems, func(a, b docProblem) int { return a.offset - b.offset })
	var texts []string
	for _, p := range d.problems[:min(len(d.problems), maxProblems)] {
		texts = append(texts, d.position(p.offset)+": "+p.text)
	}
	if more := len(d.problems) - len(texts) + d.unkept; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return errorf("%s: %s", d.file, strings.Join(texts, "; "))
}

// position says where a byte of the document is. Columns count bytes.
func (d *Document) position(offset int) string {
	before := d.data[:offset]
	return fmt.Sprintf("line %d, column %d", bytes.Count(before, []byte("\n"))+1, offset-bytes.LastIndexByte(before, '\n'))
}

// where says where a value is, for logs and errors that are not about it.
func (d *Document) where(at place) string { return d.position(at.offset) + ": " + at.path }

// maxDocument bounds a document, in bytes.
const maxDocument = 64 << 20
