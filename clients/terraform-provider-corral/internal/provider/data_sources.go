// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"net/url"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"corral.dev/terraform-provider-corral/internal/api"
)

// reading is a data source: what people ask for, and what the API answers to a GET.
type reading struct {
	client      *api.Client
	typeName    string
	description string
	collection  string
	asked       map[string]schema.Attribute
	answered    []model
	// query is made from what is asked for.
	query func(asked values) url.Values
}

var _ datasource.DataSourceWithConfigure = (*reading)(nil)

func newCatalogue() datasource.DataSource {
	return &reading{
		typeName:    "catalogue",
		description: "What clusters can be declared with: regions, versions of Kubernetes, machine types and images, with prices, and what is left of the quotas.",
		collection:  "catalogue",
		asked: map[string]schema.Attribute{
			"connection_ref": schema.StringAttribute{Optional: true, MarkdownDescription: "A connection of the team, whose prices are shown. Without it there are none."},
		},
		answered: models["catalogue"],
		query: func(asked values) url.Values {
			query := url.Values{}
			if ref := textOf(asked["connection_ref"]); ref != "" {
				query.Set("connection", ref)
			}
			return query
		},
	}
}

func newOperations() datasource.DataSource {
	operations := model{Name: "operations", Wire: "items", Kind: "list", Description: "The newest 200, the newest first.", Element: &model{Kind: "object", Members: models["operation"]}}
	return &reading{
		typeName:    "operations",
		description: "Operations of the team: what was changed, by whom, how it went, and what it waits for.",
		collection:  "operations",
		asked: map[string]schema.Attribute{
			"target": schema.StringAttribute{Optional: true, MarkdownDescription: "Name or id of what was changed."},
			"states": schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Only operations in one of these states."},
			"kinds":  schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Only operations of these kinds, such as `cluster.update`."},
		},
		answered: []model{operations},
		query: func(asked values) url.Values {
			query := url.Values{"limit": {"200"}}
			if target := textOf(asked["target"]); target != "" {
				query.Set("target", target)
			}
			for name, parameter := range map[string]string{"states": "state", "kinds": "kind"} {
				for _, each := range elementsOf(asked[name]) {
					query.Add(parameter, textOf(each))
				}
			}
			return query
		},
	}
}

func (r *reading) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + r.typeName
}

func (r *reading) Configure(_ context.Context, req datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	r.client, _ = req.ProviderData.(*api.Client)
}

func (r *reading) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := dataAttributes(r.answered)
	for name, each := range r.asked {
		attributes[name] = each
	}
	resp.Schema = schema.Schema{MarkdownDescription: r.description, Attributes: attributes}
}

func (r *reading) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	state := attributesOf(req.Config.Raw)
	answer, err := r.client.Do(ctx, api.Request{Method: "GET", Path: r.client.Path(r.collection) + "?" + r.query(state).Encode()})
	if err != nil {
		addError(&resp.Diagnostics, nil, "The "+r.collection+" cannot be read", err)
		return
	}
	for _, each := range r.answered {
		state[each.Name] = each.fromAPI(member(answer.Body, each.Wire))
	}
	resp.State.Raw = tftypes.NewValue(req.Config.Raw.Type(), state)
}
