{{- define "corral.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}{{ else if contains "corral" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-corral" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- /* The enabled components as a list in YAML: values key, name, database role, ports. */ -}}
{{- define "corral.components" -}}
- { key: dnsGateway, name: dns-gateway, role: dns_gateway, port: 8080, metricsPort: 9090, api: true, grace: 40 }
{{- if .Values.clusterApi.enabled }}
- { key: clusterApi, name: cluster-api, role: cluster_api, port: 8081, metricsPort: 9092, api: true, grace: 40 }
{{- end }}
- { key: reconciler, name: reconciler, role: reconciler, port: 0, metricsPort: 9091, api: false, grace: 20 }
{{- end }}

{{- define "corral.selector" -}}
app.kubernetes.io/name: corral
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- /* What the pods of a component have in common with those of others: `.key` names its values. No version: an upgrade of the chart alone replaces no pod. */ -}}
{{- define "corral.podLabels" -}}
{{- $own := index .root.Values .key }}
{{- include "corral.selector" . }}
{{- with merge (deepCopy ($own.podLabels | default dict)) .root.Values.pods.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "corral.podAnnotations" -}}
{{- $own := index .root.Values .key }}
{{- with merge (deepCopy ($own.podAnnotations | default dict)) .root.Values.pods.annotations }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{- /* Where pods run, and how: the values of the component, or else those of all pods. */ -}}
{{- define "corral.podSettings" -}}
{{- $v := .root.Values }}
{{- $own := index $v .key }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- toYaml (merge (deepCopy ($own.securityContext | default dict)) $v.pods.securityContext (fromYaml (include "corral.podSecurity" .root))) | nindent 2 }}
{{- with $v.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ kindIs "map" . | ternary (dig "name" "" (kindIs "map" . | ternary . dict)) . }}
  {{- end }}
{{- end }}
{{- range $setting := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with index $own $setting | default (index $v.pods $setting) }}
{{ $setting }}: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "corral.containerSettings" -}}
{{- $v := .root.Values }}
{{- $own := index $v .key }}
imagePullPolicy: {{ $v.image.pullPolicy }}
securityContext: {{- toYaml (merge (deepCopy ($own.containerSecurityContext | default dict)) $v.pods.containerSecurityContext (fromYaml (include "corral.containerSecurity" .root))) | nindent 2 }}
{{- with $own.extraEnvFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Of the owner of the database: migrations, backups and the operator's command. */ -}}
{{- define "corral.ownerEnv" -}}
{{- $v := .Values }}
- { name: DATABASE_URL, value: {{ include "corral.databaseUrl" (dict "root" . "user" $v.database.owner.user) | quote }} }
- { name: DATABASE_ROLE_PREFIX, value: {{ $v.database.rolePrefix | quote }} }
{{- if $v.trustedAuthorities.configMap }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/corral/authorities/ca.crt }
{{- end }}
{{- end }}

{{- /* Of the operator's command, which has the settings of the services. */ -}}
{{- define "corral.operatorEnv" -}}
{{- $v := .Values }}
{{- include "corral.ownerEnv" . }}
- { name: DNS_ZONE_NAME, value: {{ $v.zone.name | quote }} }
- { name: AUDIT_RETENTION_DAYS, value: {{ $v.reconciler.auditRetentionDays | quote }} }
{{- with $v.demos.zoneName }}
- { name: DEMO_ZONE_NAME, value: {{ . | quote }} }
{{- end }}
{{- with $v.limits.dnsRecordsPerTeam }}
- { name: DNS_RECORDS_PER_TEAM, value: {{ . | quote }} }
{{- end }}
{{- with include "corral.redisUrl" . }}
- { name: REDIS_URL, value: {{ . | quote }} }
{{- end }}
{{- end }}

{{- define "corral.authoritiesMount" -}}
{{- if .Values.trustedAuthorities.configMap }}
- { name: authorities, mountPath: /etc/corral/authorities, readOnly: true }
{{- end }}
{{- end }}

{{- define "corral.authoritiesVolume" -}}
{{- with .Values.trustedAuthorities }}
{{- if .configMap }}
- name: authorities
  configMap:
    name: {{ .configMap }}
    items: [{ key: {{ .key }}, path: ca.crt }]
{{- end }}
{{- end }}
{{- end }}

{{- define "corral.labels" -}}
{{ include "corral.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "corral.image" -}}
{{- $digest := index .root.Values.image.digests .key -}}
{{- if $digest }}{{ printf "%s/%s@%s" .root.Values.image.repository .name $digest }}{{ else }}{{ printf "%s/%s:%s" .root.Values.image.repository .name (.root.Values.image.tag | default .root.Chart.AppVersion) }}{{ end -}}
{{- end }}

{{- define "corral.redisUrl" -}}
{{- if .Values.redis.enabled }}{{ printf "%s://%s:%v" (ternary "rediss" "redis" .Values.redis.tls) .Values.redis.host .Values.redis.port }}{{ end -}}
{{- end }}

{{- /* Postgres as the user `.user`; the password is in DATABASE_PASSWORD. */ -}}
{{- define "corral.databaseUrl" -}}
{{- with .root.Values.database -}}
{{ printf "postgresql://%s@%s:%v/%s" $.user .host .port .name }}{{ with .parameters }}?{{ . }}{{ end }}
{{- end -}}
{{- end }}

{{- /* The secrets of a service by variable, as YAML: what one service needs, another does not get. */ -}}
{{- define "corral.secrets" -}}
{{- $v := .root.Values }}
{{- if eq .key "dnsGateway" }}
DATABASE_PASSWORD: {{ toJson $v.database.passwords.dnsGateway }}
HCLOUD_TOKEN: {{ toJson $v.upstream.token }}
{{- else if eq .key "clusterApi" }}
DATABASE_PASSWORD: {{ toJson $v.database.passwords.clusterApi }}
SECRET_KEYS: {{ toJson $v.secretKeys }}
OIDC_CLIENT_SECRET: {{ toJson $v.oidc.clientSecret }}
BILLING_WEBHOOK_SECRETS: {{ toJson $v.billing.webhookSecrets }}
{{- else if eq .key "reconciler" }}
DATABASE_PASSWORD: {{ toJson $v.database.passwords.reconciler }}
HCLOUD_TOKEN: {{ toJson $v.upstream.token }}
SMTP_URL: {{ toJson $v.mail.smtpUrl }}
{{- if $v.garden.enabled }}
SECRET_KEYS: {{ toJson $v.secretKeys }}
{{- end }}
{{- else if eq .key "migration" }}
DATABASE_PASSWORD: {{ toJson $v.database.owner.password }}
{{- if $v.database.createRoles }}
DNS_GATEWAY_DATABASE_PASSWORD: {{ toJson $v.database.passwords.dnsGateway }}
RECONCILER_DATABASE_PASSWORD: {{ toJson $v.database.passwords.reconciler }}
{{- if $v.clusterApi.enabled }}
CLUSTER_API_DATABASE_PASSWORD: {{ toJson $v.database.passwords.clusterApi }}
{{- end }}
{{- end }}
{{- else if has .key (list "backup" "doctor") }}
DATABASE_PASSWORD: {{ toJson $v.database.owner.password }}
{{- else if eq .key "admin" }}
DATABASE_PASSWORD: {{ toJson $v.database.owner.password }}
{{- if $v.garden.enabled }}
SECRET_KEYS: {{ toJson $v.secretKeys }}
{{- end }}
{{- else if eq .key "test" }}
DNS_TOKEN: {{ toJson $v.test.token }}
{{- end }}
{{- if and $v.tracing.endpoint (has .key (list "dnsGateway" "clusterApi" "reconciler")) }}
OTEL_EXPORTER_OTLP_HEADERS: {{ toJson $v.tracing.headers }}
{{- end }}
{{- if and $v.redis.enabled (has .key (list "dnsGateway" "clusterApi" "reconciler" "admin" "doctor")) }}
REDIS_PASSWORD: {{ toJson $v.redis.password }}
{{- end }}
{{- end }}

{{- /* The variables of secrets that are set. */ -}}
{{- define "corral.secretEnv" -}}
{{- $ctx := . }}
{{- range $variable, $secret := fromYaml (include "corral.secrets" .) }}
{{- if $secret.existingSecret }}
- name: {{ $variable }}
  valueFrom: { secretKeyRef: { name: {{ $secret.existingSecret }}, key: {{ $secret.key }} } }
{{- else if $secret.value }}
- name: {{ $variable }}
  valueFrom: { secretKeyRef: { name: {{ include "corral.fullname" $ctx.root }}-{{ $ctx.name }}, key: {{ $variable }} } }
{{- end }}
{{- end }}
{{- end }}

{{- /* The data of the Secret that the chart makes for a service; empty if all of its secrets exist already. */ -}}
{{- define "corral.secretData" -}}
{{- range $variable, $secret := fromYaml (include "corral.secrets" .) }}
{{- if and $secret.value (not $secret.existingSecret) }}
{{ $variable }}: {{ $secret.value | b64enc | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /*
Changes with the secrets of a service, so that its pods are replaced. It depends on values alone, so that `helm template`, as Argo CD runs it,
gives the same as an upgrade: the content of Secrets of others is not read.
*/ -}}
{{- define "corral.secretChecksum" -}}
{{- $revision := .root.Values.secretsRevision }}
{{- $seen := list (include "corral.secretData" .) }}
{{- range $secret := values (fromYaml (include "corral.secrets" .)) }}
{{- with $secret.existingSecret }}{{ $seen = append $seen (printf "%s %s" . $revision) }}{{ end }}
{{- end }}
{{- $seen | sortAlpha | join "\n" | sha256sum }}
{{- end }}

{{- /* The other variables of a service, as a map in YAML. Empty ones are left out. */ -}}
{{- define "corral.env" -}}
{{- $v := .root.Values }}
{{- $values := index $v .key }}
DATABASE_URL: {{ include "corral.databaseUrl" (dict "root" .root "user" (printf "%s%s" $v.database.rolePrefix .role)) | quote }}
REDIS_URL: {{ include "corral.redisUrl" .root | quote }}
DNS_ZONE_NAME: {{ $v.zone.name | quote }}
HCLOUD_API_URL: {{ $v.upstream.url | quote }}
METRICS_PORT: {{ .metricsPort | quote }}
{{- with $v.tracing }}
{{- if .endpoint }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ .endpoint | quote }}
OTEL_TRACES_SAMPLER: {{ .sampler | quote }}
{{- with .share }}
OTEL_TRACES_SAMPLER_ARG: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- with $v.limits.dnsRecordsPerTeam }}
DNS_RECORDS_PER_TEAM: {{ . | quote }}
{{- end }}
{{- with $v.trustedAuthorities.configMap }}
NODE_EXTRA_CA_CERTS: /etc/corral/authorities/ca.crt
{{- end }}
{{- if .api }}
PORT: {{ .port | quote }}
PUBLIC_URL: {{ $values.publicUrl | quote }}
TRUST_PROXY: {{ $v.trustProxy | quote }}
{{- if $values.tls.existingSecret }}
TLS_CERT_FILE: /etc/corral/tls/tls.crt
TLS_KEY_FILE: /etc/corral/tls/tls.key
TLS_PORT: "8443"
{{- end }}
{{- end }}
{{- if eq .key "dnsGateway" }}
DEMOS_ENABLED: {{ $v.demos.enabled | quote }}
DEMO_ZONE_NAME: {{ $v.demos.zoneName | quote }}
CONSOLE_ORIGINS: {{ include "corral.consoleOrigin" .root | quote }}
{{- with $v.limits.dnsRequestsPerTeamPerMinute }}
LIMIT_PER_TEAM: {{ . | quote }}
{{- end }}
{{- end }}
{{- if eq .key "clusterApi" }}
DNS_API_URL: {{ $v.dnsGateway.publicUrl | quote }}
{{- with $v.limits.dnsRequestsPerTeamPerMinute }}
DNS_LIMIT_PER_TEAM: {{ . | quote }}
{{- end }}
OIDC_ISSUER: {{ $v.oidc.issuer | quote }}
OIDC_CLIENT_ID: {{ $v.oidc.clientId | quote }}
OIDC_SCOPES: {{ $v.oidc.scopes | quote }}
SUBSCRIPTION_REQUIRED: {{ $v.billing.subscriptionRequired | quote }}
{{- end }}
{{- if eq .key "reconciler" }}
DEMO_ZONE_NAME: {{ $v.demos.zoneName | quote }}
AUDIT_RETENTION_DAYS: {{ $v.reconciler.auditRetentionDays | quote }}
MAIL_FROM: {{ $v.mail.from | quote }}
CLUSTER_API_URL: {{ $v.clusterApi.publicUrl | quote }}
{{- end }}
{{- if eq .key "reconciler" }}
DNS_API_URL: {{ $v.dnsGateway.publicUrl | quote }}
{{- end }}
{{- if ne .key "dnsGateway" }}
CONSOLE_ENABLED: {{ $v.console.enabled | quote }}
CONSOLE_URL: {{ $v.console.url | quote }}
{{- if $v.garden.enabled }}
{{- if $v.garden.inCluster }}
GARDEN_IN_CLUSTER: "true"
{{- else }}
GARDEN_KUBECONFIG: /etc/corral/garden/kubeconfig
{{- end }}
GARDEN_CLOUD_PROFILE: {{ $v.garden.cloudProfile | quote }}
GARDEN_FEATURES: {{ join "," $v.garden.features | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "corral.consoleOrigin" -}}
{{- $url := .Values.console.url | default .Values.clusterApi.publicUrl }}
{{- if and .Values.clusterApi.enabled $url }}{{ with urlParse $url }}{{ printf "%s://%s" .scheme .host }}{{ end }}{{ end -}}
{{- end }}

{{- define "corral.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "corral.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}
