package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/secret"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// document is the provisioning document.
type document struct {
	file          string      // as the operator named it
	exposed       fs.FileMode // of the file, if others can read it; else 0
	organizations []organizationDoc
	deleted       deletedNotes
}

type organizationDoc struct {
	id            string
	setupComplete bool
	apiKeys       []apiKeyDoc
	collections   []collectionDoc
	rbac          bool
	accessTokens  []accessTokenDoc
	clients       []clientDoc
	invitations   []invitationDoc
	vaults        []vaultDoc
	datasets      []datasetDoc
}

type apiKeyDoc struct {
	key     string
	revoked bool
	place   string // as docMember.where says it, for errors: the key itself is never repeated
}

type collectionDoc struct {
	id    uuid.UUID
	ready bool
}

// contradiction is the error of a document that does not go with what is stored. It reads
// as those of the document alone.
func (d *document) contradiction(place, what string) error {
	return usagef("-config: %s: %s: %s", d.file, place, what)
}

// readProvisioning reads and checks a whole document. Without a path it returns nil.
// Every error is the operator's.
func readProvisioning(path string) (*document, error) {
	if path == "" {
		return nil, nil
	}
	data, exposed, err := readDocument(path)
	if err != nil {
		return nil, usagef("-config: %w", err)
	}
	doc, err := parseDocument(data)
	if err != nil {
		return nil, usagef("-config: %s: %w", path, err)
	}
	doc.file, doc.exposed = path, exposed
	return doc, nil
}

// readDocument also returns the file's mode if others than its owner can read it, else 0.
func readDocument(path string) (data []byte, exposed fs.FileMode, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(f)
	return data, exposedMode(info), err
}

// warnOfExposed tells an operator that others can read the document: it holds credentials
// and the values of vaults in clear.
func (d *document) warnOfExposed(log *slog.Logger) {
	if d != nil && d.exposed != 0 {
		log.Warn("others can read the provisioning document, which holds secrets; chmod 600 it", "file", d.file, "mode", d.exposed.String())
	}
}

// documentPath is what errors call the document as a whole.
const documentPath = "the document"

// maxNesting bounds the depth of a document: enough that what is too deep is told with
// the name of its key.
const maxNesting = 64

func parseDocument(data []byte) (*document, error) {
	root, err := strictjson.Parse(data, maxNesting)
	if err != nil {
		var refused *strictjson.Error
		if errors.As(err, &refused) {
			line, column := strictjson.LineColumn(data, refused.Offset)
			return nil, fmt.Errorf("line %d, column %d: not valid JSON: %s", line, column, refused.Reason)
		}
		return nil, err
	}
	r := &docReader{data: data, secrets: make(map[string]string)}
	doc := new(document)
	top := r.object(root, documentPath, "organizations")
	ids := r.unique()
	for o := range top.objects("organizations", "id", "setup_complete", "rbac_enabled", "api_keys", "access_tokens",
		"doc_collections", "vaults", "clients", "invitations", "datasets") {
		doc.organizations = append(doc.organizations, readOrganization(o, ids))
	}
	return doc, r.err()
}

func readOrganization(o docObject, ids *uniqueNames) organizationDoc {
	org := organizationDoc{id: o.name("id"), setupComplete: o.boolean("setup_complete")}
	if org.id == provisionedOrganization {
		o.fail("id", "is kept for this program")
	}
	ids.add(o, "id", org.id)
	for k := range o.objects("api_keys", "key", "revoked") {
		revoked := k.boolean("revoked")
		org.apiKeys = append(org.apiKeys, apiKeyDoc{key: k.secretOr("key", revoked), revoked: revoked, place: k.where()})
	}
	collections := o.r.unique()
	for c := range o.objects("doc_collections", "id", "ready") {
		id := c.uuid("id")
		collections.add(c, "id", id.String())
		org.collections = append(org.collections, collectionDoc{id: id, ready: c.boolean("ready")})
	}
	readAuthMgmt(o, &org)
	readVaults(o, &org)
	readDatasets(o, &org)
	return org
}

// secret reads a credential: not easily guessed, and of characters that an Authorization
// header can carry.
func (o docObject) secret(key string) string { return o.secretOr(key, false) }

// secretOr reads a credential. One that is revoked may be easily guessed: an earlier
// version may have taken it.
func (o docObject) secretOr(key string, revoked bool) string {
	text, ok := o.text(key, true)
	if !ok {
		return ""
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			o.fail(key, "must be visible ASCII without spaces, as an Authorization header carries it")
			return ""
		}
	}
	if problem := secret.ImportProblem(text); problem != "" && (!revoked || len(text) > secret.MaxLength) {
		o.fail(key, "%s", problem)
		return ""
	}
	if earlier, ok := o.r.secrets[text]; ok {
		o.fail(key, "is the same secret as at %s", earlier)
		return ""
	}
	o.r.secrets[text] = o.member(key).place()
	return text
}
