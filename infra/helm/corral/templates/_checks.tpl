{{- /* Combinations that the schema of the values cannot express. */ -}}
{{- define "corral.checks" -}}
{{- $v := .Values }}
{{- $missing := list }}
{{- range $path, $secret := dict "upstream.token" $v.upstream.token "database.owner.password" $v.database.owner.password "database.passwords.dnsGateway" $v.database.passwords.dnsGateway "database.passwords.reconciler" $v.database.passwords.reconciler }}
{{- if not (or $secret.value $secret.existingSecret) }}{{ $missing = append $missing $path }}{{ end }}
{{- end }}
{{- if $v.clusterApi.enabled }}
{{- range $path, $secret := dict "secretKeys" $v.secretKeys "database.passwords.clusterApi" $v.database.passwords.clusterApi }}
{{- if not (or $secret.value $secret.existingSecret) }}{{ $missing = append $missing $path }}{{ end }}
{{- end }}
{{- if not $v.garden.enabled }}{{ fail "clusterApi.enabled requires garden.enabled: the cluster API needs a garden." }}{{ end }}
{{- end }}
{{- if $v.garden.enabled }}
{{- if not $v.clusterApi.enabled }}{{ fail "garden.enabled requires clusterApi.enabled: without it nobody can declare clusters." }}{{ end }}
{{- range $path, $secret := dict "garden.clusterApiKubeconfig" $v.garden.clusterApiKubeconfig "garden.reconcilerKubeconfig" $v.garden.reconcilerKubeconfig }}
{{- if and $secret.existingSecret $v.garden.inCluster }}{{ fail (printf "garden.inCluster and %s exclude each other." $path) }}{{ end }}
{{- if not (or $secret.existingSecret $v.garden.inCluster) }}{{ $missing = append $missing $path }}{{ end }}
{{- end }}
{{- end }}
{{- if and $v.demos.enabled (not $v.demos.zoneName) }}{{ $missing = append $missing "demos.zoneName" }}{{ end }}
{{- if and $v.redis.enabled (not $v.redis.host) }}{{ $missing = append $missing "redis.host" }}{{ end }}
{{- with $missing }}{{ fail (printf "Set %s (a secret by its value or existingSecret)." (join ", " (sortAlpha .))) }}{{ end }}
{{- end }}
