// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"corral.dev/terraform-provider-corral/internal/api"
)

const leavingPause = 2 * time.Second

func newAdoptedServer() resource.Resource {
	spec, status := models["adoptedServerSpec"], models["adoptedServerStatus"]
	read := func(state values, body any) values {
		state = with(with(state, spec, member(body, "spec")), status, member(body, "status"))
		state["id"] = text(memberText(body, "metadata", "id"))
		return state
	}
	path := func(client *api.Client, state values) string {
		return client.Path("connections", textOf(state["connection_ref"]), "adopted-servers", strconv.FormatInt(wholeNumber(state["server_id"]), 10))
	}
	find := func(ctx context.Context, client *api.Client, state values) (values, error) {
		answer, err := client.Do(ctx, api.Request{Method: "GET", Path: path(client, state)})
		if err != nil {
			return nil, gone(err)
		}
		return read(state, answer.Body), nil
	}
	return &created{
		typeName: "adopted_server",
		noun:     "The server",
		description: "A server of the team's own that becomes a node. **The adoption destroys all data on its disk**, so it needs an acknowledgement. The " +
			"deletion deregisters it: the server stays. It needs an administrator.",
		attributes: merged(attributesFor(spec, status), map[string]schema.Attribute{
			"connection_ref": fixedText("Connection whose project has the server. A change adopts it anew."),
			"acknowledge":    schema.StringAttribute{Required: true, MarkdownDescription: "Exactly `WIPE`: the operating system is rebuilt and all data is destroyed."},
			"id":             kept("Id of the adopted server.", false),
		}),
		calls: calls{
			create: func(ctx context.Context, client *api.Client, plan values) (values, error) {
				body := map[string]any{"spec": bodyOf(spec, plan), "acknowledge": map[string]any{"confirm": textOf(plan["acknowledge"])}}
				collection := client.Path("connections", textOf(plan["connection_ref"]), "adopted-servers")
				answer, err := client.Do(ctx, api.Request{Method: "POST", Path: collection, Body: body, Header: key()})
				if err != nil {
					return nil, err
				}
				state := read(plan, answer.Body)
				// Other machines are adopted when somebody has run their join command, which needs a node pool.
				if textOf(plan["server_kind"]) != "cloud" {
					return state, nil
				}
				failure := ended(ctx, client, answer)
				if found, err := find(ctx, client, state); err == nil && found != nil {
					state = found
				}
				return state, failure
			},
			find: find,
			remove: func(ctx context.Context, client *api.Client, state values) error {
				end := time.Now().Add(client.OperationTimeout)
				for {
					answer, err := client.Do(ctx, api.Request{Method: "DELETE", Path: path(client, state)})
					if err == nil {
						return ended(ctx, client, answer)
					}
					// The cluster that used it is gone, and the server is being drained and rebuilt.
					found, readError := find(ctx, client, state)
					isLeaving := readError == nil && found != nil && textOf(found["phase"]) == "Leaving"
					if !isLeaving || time.Now().After(end) || api.Sleep(ctx, leavingPause) != nil {
						return err
					}
				}
			},
			imported: func(id string) (values, error) {
				ref, number, _ := strings.Cut(id, "/")
				if _, err := strconv.ParseInt(number, 10, 64); err != nil {
					return nil, errors.New("The id looks like main/4711: the ref of the connection and the number of the server.")
				}
				return values{"connection_ref": text(ref), "server_id": model{Kind: "integer"}.fromAPI(json.Number(number))}, nil
			},
		},
	}
}
