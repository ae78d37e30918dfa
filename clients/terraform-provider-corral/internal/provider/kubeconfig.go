// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"corral.dev/terraform-provider-corral/internal/api"
)

// kubeconfig is issued whenever Terraform needs it, and stored nowhere.
type kubeconfig struct{ client *api.Client }

var _ ephemeral.EphemeralResourceWithConfigure = (*kubeconfig)(nil)

func newKubeconfig() ephemeral.EphemeralResource { return &kubeconfig{} }

func (k *kubeconfig) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_kubeconfig"
}

func (k *kubeconfig) Configure(_ context.Context, req ephemeral.ConfigureRequest, _ *ephemeral.ConfigureResponse) {
	k.client, _ = req.ProviderData.(*api.Client)
}

func (k *kubeconfig) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A kubeconfig for a cluster. It is issued anew for each run of Terraform, and is never in the state or in a plan.",
		Attributes: map[string]schema.Attribute{
			"cluster":     schema.StringAttribute{Required: true, MarkdownDescription: "Name of the cluster."},
			"ttl_seconds": schema.Int64Attribute{Optional: true, MarkdownDescription: "How long it is valid. Absent: 3600."},
			"scope":       schema.StringAttribute{Optional: true, MarkdownDescription: "`admin`: full access. `viewer`: reads everything except Secrets. Absent: `admin`."},
			"kubeconfig":  schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "The file."},
			"expires_at":  schema.StringAttribute{Computed: true, MarkdownDescription: "When it ends."},
		},
	}
}

type kubeconfigData struct {
	Cluster    types.String `tfsdk:"cluster"`
	TTLSeconds types.Int64  `tfsdk:"ttl_seconds"`
	Scope      types.String `tfsdk:"scope"`
	Kubeconfig types.String `tfsdk:"kubeconfig"`
	ExpiresAt  types.String `tfsdk:"expires_at"`
}

func (k *kubeconfig) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var data kubeconfigData
	resp.Diagnostics.Append(req.Config.Get(ctx, &data)...)
	if resp.Diagnostics.HasError() {
		return
	}
	body := map[string]any{}
	if !data.TTLSeconds.IsNull() {
		body["ttlSeconds"] = data.TTLSeconds.ValueInt64()
	}
	if !data.Scope.IsNull() {
		body["scope"] = data.Scope.ValueString()
	}
	name := data.Cluster.ValueString()
	answer, err := k.client.Do(ctx, api.Request{Method: "POST", Path: k.client.Path("clusters", name, "kubeconfig"), Body: body})
	if err != nil {
		addError(&resp.Diagnostics, nil, "There is no kubeconfig for cluster "+name, err)
		return
	}
	data.Kubeconfig = types.StringValue(memberText(answer.Body, "kubeconfig"))
	data.ExpiresAt = types.StringValue(memberText(answer.Body, "expiresAt"))
	resp.Diagnostics.Append(resp.Result.Set(ctx, &data)...)
}
