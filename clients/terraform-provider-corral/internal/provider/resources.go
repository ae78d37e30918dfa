// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

func newCluster() resource.Resource {
	return &declared{
		typeName:       "cluster",
		noun:           "Cluster",
		description:    "A Kubernetes cluster with its node pools. Plans show what Corral would do: which nodes are replaced, what it costs, and refusals.",
		collection:     "clusters",
		key:            "name",
		keyDescription: "Name in the team.",
		spec:           models["clusterSpec"],
		status:         models["clusterStatus"],
		hasTags:        true,
		dryRuns:        true,
	}
}

func newConnection() resource.Resource {
	return &declared{
		typeName:       "connection",
		noun:           "Connection",
		description:    "A cloud project in which clusters are created. It needs an administrator. Terraform stores no token: it is sent when the connection is created, and when `token_version` changes.",
		collection:     "connections",
		key:            "ref",
		keyDescription: "Name in the team, which clusters refer to.",
		spec:           models["connectionSpec"],
		status:         models["connectionStatus"],
		extra: map[string]schema.Attribute{
			"token_version": schema.Int64Attribute{Optional: true, MarkdownDescription: "Any number. Change it when `token` has changed: Terraform cannot see that."},
		},
		hasTags: true,
	}
}

func newServiceAccount() resource.Resource {
	return &declared{
		typeName:       "service_account",
		noun:           "Service account",
		description:    "Access of a program to the team." + forPeople,
		collection:     "service-accounts",
		key:            "name",
		keyDescription: "Name in the team.",
		spec:           models["serviceAccountSpec"],
	}
}

func newTrustedIssuer() resource.Resource {
	return &declared{
		typeName:       "trusted_issuer",
		noun:           "Trusted issuer",
		description:    "Whose tokens a pipeline can exchange for those of a service account, so that it needs no stored secret." + forPeople,
		collection:     "trusted-issuers",
		key:            "name",
		keyDescription: "Name in the team.",
		spec:           models["trustedIssuerSpec"],
	}
}

// needsToken: a token is sent to a new connection, and when its version changes.
func needsToken(plan, prior values) bool {
	version, found := plan["token_version"]
	return found && !version.Equal(prior["token_version"])
}
