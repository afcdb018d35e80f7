package httpadapter

import (
	"encoding/json"
	"errors"
)

// pathServer is an entry of the servers of a path in an OpenAPI document.
type pathServer struct {
	URL         string                    `json:"url"`
	Description string                    `json:"description"`
	Variables   map[string]serverVariable `json:"variables"`
}

type serverVariable struct {
	Default     string `json:"default"`
	Description string `json:"description"`
}

// vaultServers checks the base addresses of a vault, and writes them as the servers of
// its paths, nil for none. Each customer has other ones, so they are variables, of the
// names that the document knows them by.
func vaultServers(production, sandbox string) (json.RawMessage, error) {
	if production == "" && sandbox != "" {
		return nil, errors.New("httpadapter: VaultOptions.SandboxURL needs ProductionURL: the paths would stand under the sandbox alone")
	}
	var list []pathServer
	for _, s := range []struct{ address, variable, description string }{
		{production, "vault_base_url", "Production"}, {sandbox, "vault_sandbox_base_url", "Sandbox: values, tokens and keys of its own"},
	} {
		if s.address == "" {
			continue
		}
		address, err := serverAddress(s.address)
		if err != nil {
			return nil, err
		}
		list = append(list, pathServer{URL: "{" + s.variable + "}", Description: s.description,
			Variables: map[string]serverVariable{s.variable: {Default: address, Description: "The base address of this host."}}})
	}
	if list == nil {
		return nil, nil
	}
	return jsonBody(list)
}
