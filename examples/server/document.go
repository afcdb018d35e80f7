package main

import (
	"io/fs"
	"log/slog"
	"os"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/vault"
)

// document is the provisioning document. A json tag is a key, and document_reader.go says
// what the types mean.
type document struct {
	file     string      // as the operator named it
	exposed  fs.FileMode // of the file, if others can read it; else 0
	data     []byte
	lines    []int // where each begins; made when it is first needed
	problems []docProblem
	secrets  map[string]*node // the credentials
	log      *slog.Logger
	deleted  map[[2]string]bool // organizations and vaults that were deleted, and noted

	Organizations []organizationDoc `json:"organizations"`
}

type organizationDoc struct {
	At            *node
	ID            string           `json:"id"`
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
	At      *node
	Key     secretText `json:"key"`
	Revoked bool       `json:"revoked"`
}

type collectionDoc struct {
	ID    uuidText `json:"id"`
	Ready bool     `json:"ready"`
}

type accessTokenDoc struct {
	At      *node
	Token   secretText `json:"token"`
	Subject string     `json:"subject"`
	Roles   roleDocs   `json:"roles"` // none: full access
	Revoked bool       `json:"revoked"`
}

type clientDoc struct {
	At     *node
	ID     string     `json:"client_id"`
	Secret secretText `json:"client_secret"`
	Name   string     `json:"name"`
	Roles  roleDocs   `json:"roles"`
}

type invitationDoc struct {
	At      *node
	ID      string `json:"invitation_id"`
	Inviter struct {
		Name string `json:"name"`
	} `json:"inviter"`
	Invitee struct {
		Email string   `json:"email"`
		Name  string   `json:"name"`
		Roles roleDocs `json:"roles"`
	} `json:"invitee"`
	Expires lifetime `json:"expires_in,omitempty"` // from its creation; 0 for the default
}

type roleDocs []struct {
	ID               string       `json:"role_id"`
	Resource         nullableText `json:"resource,omitempty"`
	ResourceInstance nullableText `json:"resource_instance,omitempty"`
}

func (docs roleDocs) roles() (roles []access.Role) {
	for _, r := range docs {
		roles = append(roles, access.Role{
			ID: r.ID, Resource: access.ResourceType(r.Resource), ResourceInstance: string(r.ResourceInstance),
		})
	}
	return roles
}

type vaultDoc struct {
	At      *node
	ID      string        `json:"id"`
	Tables  []vault.Table `json:"tables"`
	Records []recordDoc   `json:"records"`
}

type recordDoc struct {
	At     *node
	Table  string    `json:"table"`
	Fields fieldDocs `json:"fields"`
}

type fieldDoc struct {
	At     *node
	column string
	value  vault.Value
}

type datasetDoc struct {
	At     *node
	ID     string     `json:"id"`
	Videos []videoDoc `json:"videos"`
}

type videoDoc struct {
	At       *node
	ID       string    `json:"id"`
	Path     mediaPath `json:"path"`
	Metadata scalars   `json:"metadata,omitempty"`
}

// readProvisioning reads a document, as far as it is JSON. Without a path it returns nil.
func readProvisioning(path string) (*document, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(path)
	}
	if err != nil {
		return nil, usagef("-config: %w", err)
	}
	doc, err := parseDocument(path, data)
	if err != nil {
		return nil, err
	}
	doc.exposed = exposedMode(info)
	return doc, nil
}

// warnOfExposed tells an operator that others can read the document: it holds credentials
// and the values of vaults in clear.
func (d *document) warnOfExposed(log *slog.Logger) {
	if d != nil && d.exposed != 0 {
		log.Warn("others can read the provisioning document, which holds secrets; chmod 600 it", "file", d.file, "mode", d.exposed.String())
	}
}
