// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/resource"
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

// needsToken: a token is sent to a new connection, and when its version changes.
func needsToken(plan, prior values) bool {
	version, found := plan["token_version"]
	return found && !version.Equal(prior["token_version"])
}
