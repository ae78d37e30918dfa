// SPDX-License-Identifier: Apache-2.0

// Package provider has the resources and data sources of Corral.
package provider

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"corral.dev/terraform-provider-corral/internal/api"
)

const operationTimeout = time.Hour

type corral struct{ version string }

var (
	_ provider.ProviderWithEphemeralResources = (*corral)(nil)
)

// New returns what serves the provider.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &corral{version} }
}

func (p *corral) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "corral"
	resp.Version = p.version
}

func (p *corral) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Kubernetes clusters of one team, and what they need.",
		Attributes: map[string]schema.Attribute{
			"endpoint": schema.StringAttribute{Optional: true, MarkdownDescription: "Address of the cluster API, such as `https://clusters.example.org`. Otherwise `CORRAL_URL`."},
			"team":     schema.StringAttribute{Optional: true, MarkdownDescription: "Slug of the team. Otherwise `CORRAL_TEAM`."},
			"token":    schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: "Token of a service account. Otherwise `CORRAL_TOKEN`."},
			"session": schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: "Session of a person, instead of `token`: service accounts, trusted issuers and people are managed by people only. " +
				"Otherwise `CORRAL_SESSION`."},
			"operation_timeout": schema.StringAttribute{Optional: true, MarkdownDescription: "How long to wait for one operation, such as `90m`. The default is `1h`."},
		},
	}
}

type settings struct {
	Endpoint         types.String `tfsdk:"endpoint"`
	Team             types.String `tfsdk:"team"`
	Token            types.String `tfsdk:"token"`
	Session          types.String `tfsdk:"session"`
	OperationTimeout types.String `tfsdk:"operation_timeout"`
}

func (s settings) isKnown() bool {
	for _, each := range []types.String{s.Endpoint, s.Team, s.Token, s.Session, s.OperationTimeout} {
		if each.IsUnknown() {
			return false
		}
	}
	return true
}

func (p *corral) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var given settings
	resp.Diagnostics.Append(req.Config.Get(ctx, &given)...)
	// What is not known yet is known before anything is applied.
	if resp.Diagnostics.HasError() || !given.isKnown() {
		return
	}
	options := api.Options{
		Endpoint:         chosen(given.Endpoint, "CORRAL_URL"),
		Team:             chosen(given.Team, "CORRAL_TEAM"),
		OperationTimeout: operationTimeout,
		UserAgent:        "terraform-provider-corral/" + p.version,
	}
	options.Token, options.Session = credentials(given, &resp.Diagnostics)
	need(&resp.Diagnostics, "endpoint", "CORRAL_URL", options.Endpoint)
	need(&resp.Diagnostics, "team", "CORRAL_TEAM", options.Team)
	if timeout := given.OperationTimeout.ValueString(); timeout != "" {
		parsed, err := time.ParseDuration(timeout)
		if err != nil || parsed <= 0 {
			resp.Diagnostics.AddAttributeError(path.Root("operation_timeout"), "operation_timeout is no duration", "Use one such as 90m or 2h.")
		}
		options.OperationTimeout = parsed
	}
	if resp.Diagnostics.HasError() {
		return
	}
	client, err := api.NewClient(options)
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("endpoint"), "endpoint cannot be used", fmt.Sprintf("%s: %s.", options.Endpoint, err))
		return
	}
	resp.ResourceData, resp.DataSourceData, resp.EphemeralResourceData = client, client, client
}

// credentials returns the token or the session. What is written in the configuration comes before variables.
func credentials(given settings, diagnostics *diag.Diagnostics) (token, session string) {
	token, session = given.Token.ValueString(), given.Session.ValueString()
	if token == "" && session == "" {
		token, session = os.Getenv("CORRAL_TOKEN"), os.Getenv("CORRAL_SESSION")
	}
	if (token == "") == (session == "") {
		diagnostics.AddError("Corral does not know who you are", "Set one of token (CORRAL_TOKEN) and session (CORRAL_SESSION), and not both.")
	}
	return token, session
}

func chosen(given types.String, variable string) string {
	if text := given.ValueString(); text != "" {
		return text
	}
	return os.Getenv(variable)
}

func need(diagnostics *diag.Diagnostics, name, variable, value string) {
	if value == "" {
		diagnostics.AddAttributeError(path.Root(name), name+" is missing", "Set it in the configuration of the provider, or the variable "+variable+".")
	}
}

func (p *corral) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		newCluster, newConnection, newAdoptedServer, newServiceAccount, newAccountToken, newTrustedIssuer, newInvitation, newMember,
	}
}

func (p *corral) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{newCatalogue, newOperations}
}

func (p *corral) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{newKubeconfig}
}
