import { coversName, coversType, type TokenCoverage, type WritableType, writableTypes } from '@corral/contracts';

/** A token with its place, for the configuration of a client. */
export interface TokenUse {
  /** Base URL of the DNS API, which ends in `/v1`. */
  readonly endpoint: string;
  readonly zone: string;
  readonly coverage: TokenCoverage;
  /** The token itself, or what stands for it. */
  readonly token: string;
}

/** The configuration of one client: `docs/clients.md` has the same and more. */
export interface ClientConfig {
  readonly id: string;
  readonly label: string;
  /** Commands for a shell that hold the token, for a client whose configuration is a file that people commit; null for others. */
  readonly secret: string | null;
  readonly text: string;
  /** Why this client cannot do its work with this token; null if it can. */
  readonly unsuitable: string | null;
  /** What has to be prepared; null if nothing. */
  readonly preparation: string | null;
}

/** Ready configuration for exactly this token. */
export function clientConfigs(use: TokenUse): readonly ClientConfig[] {
  const noChallenge = challengeProblem(use.coverage);
  return [
    { id: 'hcloud', label: 'hcloud CLI', secret: null, text: hcloudCli(use), unsuitable: null, preparation: null },
    {
      id: 'terraform',
      label: 'Terraform',
      secret: `export TF_VAR_dns_token=${use.token}`,
      text: terraform(use),
      unsuitable: null,
      preparation: null,
    },
    {
      id: 'lego',
      label: 'lego',
      secret: null,
      text: lego(use),
      unsuitable: noChallenge,
      preparation: builtInAddress,
    },
    {
      id: 'cert-manager',
      label: 'cert-manager',
      secret: `kubectl create secret generic corral-dns --namespace cert-manager --from-literal=token=${use.token}`,
      text: certManager(use),
      unsuitable: noChallenge,
      preparation: 'Needs the webhook of Hetzner in the cluster, with the group name acme.hetzner.com.',
    },
    {
      id: 'external-dns',
      label: 'ExternalDNS',
      secret: `kubectl create secret generic corral-dns --from-literal=token=${use.token}`,
      text: externalDns(use),
      unsuitable: registryProblem(use.coverage),
      preparation: `${builtInAddress} In the cluster, put ca.pem into the ConfigMap corral-ca.`,
    },
    { id: 'acme.sh', label: 'acme.sh', secret: null, text: acmeSh(use), unsuitable: noChallenge, preparation: null },
    { id: 'curl', label: 'curl', secret: null, text: curl(use), unsuitable: null, preparation: null },
  ];
}

const builtInAddress =
  'This client only calls api.hetzner.cloud: it has to reach the gateway by that name, and to trust its certificate. Ask the operators for ca.pem.';

const CHALLENGE = '_acme-challenge.';

/** The name below which certificates can be requested: challenges stand at `_acme-challenge.` in front of it. */
function certifiedName({ ownerLabel, withinName }: TokenCoverage): string {
  if (withinName === null) return ownerLabel;
  return withinName.startsWith(CHALLENGE) ? withinName.slice(CHALLENGE.length) : withinName;
}

function challengeProblem(coverage: TokenCoverage): string | null {
  if (!coversType(coverage, 'TXT')) return 'Challenges are TXT records, and this token cannot write TXT.';
  return coversName(coverage, CHALLENGE + certifiedName(coverage))
    ? null
    : 'This token does not cover the name of a challenge.';
}

const managedTypes = (coverage: TokenCoverage): readonly WritableType[] =>
  (['A', 'AAAA', 'CNAME'] as const).filter((type) => coversType(coverage, type));

function registryProblem(coverage: TokenCoverage): string | null {
  if (!coversType(coverage, 'TXT')) {
    return 'ExternalDNS keeps a TXT record beside each record set, and this token cannot write TXT.';
  }
  return managedTypes(coverage).length === 0 ? 'ExternalDNS writes addresses and aliases; this token cannot.' : null;
}

interface ExampleRrset {
  readonly name: string;
  readonly type: WritableType;
  readonly value: string;
}

/** A record set that the token may write. */
export function exampleRrset({ coverage, zone }: Pick<TokenUse, 'coverage' | 'zone'>): ExampleRrset {
  const { ownerLabel, withinName } = coverage;
  const isChallenge = withinName?.startsWith(CHALLENGE) ?? false;
  const [type = 'A'] = (isChallenge ? (['TXT', ...writableTypes] as const) : writableTypes).filter((each) =>
    coversType(coverage, each),
  );
  const values = { A: '192.0.2.10', AAAA: '2001:db8::10', CNAME: `${ownerLabel}.${zone}.`, TXT: '"hello"' };
  return { name: withinName ?? `www.${ownerLabel}`, type, value: values[type] };
}

const quotedForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function hcloudCli(use: TokenUse): string {
  const { name, type, value } = exampleRrset(use);
  return `export HCLOUD_ENDPOINT=${use.endpoint}
export HCLOUD_TOKEN=${use.token}
hcloud zone rrset list ${use.zone}
hcloud zone rrset create --name ${quotedForShell(name)} --type ${type} --record ${quotedForShell(value)} ${use.zone}`;
}

function terraform(use: TokenUse): string {
  const { name, type, value } = exampleRrset(use);
  const resource = (name.split('.')[0] as string).replace(/[^a-z0-9_]/g, '_').replace(/^(?![a-z_])/, '_');
  return `terraform {
  required_providers {
    hcloud = { source = "hetznercloud/hcloud" }
  }
}

variable "dns_token" {
  type      = string
  sensitive = true
}

provider "hcloud" {
  alias    = "dns"
  endpoint = "${use.endpoint}"
  token    = var.dns_token
}

resource "hcloud_zone_rrset" "${resource}" {
  provider = hcloud.dns
  zone     = "${use.zone}"
  name     = "${name}"
  type     = "${type}"
  records  = [{ value = ${JSON.stringify(value)} }]
}`;
}

/** The host of the endpoint, and a shell expression for its address. */
function gatewayOf(endpoint: string): { readonly host: string; readonly address: string } {
  const { hostname: host } = new URL(endpoint);
  const isAddress = /^[\d.]+$/.test(host) || host.startsWith('[');
  return { host, address: isAddress ? host : `$(getent ahosts ${host} | awk '{ print $1; exit }')` };
}

function lego({ endpoint, zone, coverage, token }: TokenUse): string {
  return `export HETZNER_API_TOKEN=${token}
cat /etc/ssl/certs/ca-certificates.crt ca.pem > bundle.pem
docker run --rm --add-host "api.hetzner.cloud:${gatewayOf(endpoint).address}" -v "$PWD:/data" \\
  -e SSL_CERT_FILE=/data/bundle.pem -e HETZNER_API_TOKEN goacme/lego:v5.6.0 \\
  run --path /data --email you@example.org --accept-tos --dns hetzner --domains '*.${certifiedName(coverage)}.${zone}'`;
}

function certManager({ endpoint, zone, coverage }: TokenUse): string {
  return `apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: { name: letsencrypt }
spec:
  acme:
    server: https://acme-v02.api.letsencrypt.org/directory
    email: you@example.org
    privateKeySecretRef: { name: letsencrypt-account }
    solvers:
      - selector: { dnsZones: [${certifiedName(coverage)}.${zone}] }
        dns01:
          webhook:
            groupName: acme.hetzner.com
            solverName: hetzner
            config:
              hcloudEndpoint: ${endpoint}
              httpTimeout: 30s
              tokenSecretKeyRef: { name: corral-dns, key: token }`;
}

function externalDns({ endpoint, zone, coverage }: TokenUse): string {
  const root = coverage.withinName ?? coverage.ownerLabel;
  const { host, address } = gatewayOf(endpoint);
  const ip = address === host ? host : `<address of ${host}>`;
  return `# values of the chart external-dns
provider:
  name: webhook
  webhook:
    image: { repository: ghcr.io/mconfalonieri/external-dns-hetzner-webhook }
    env:
      - { name: HETZNER_API_KEY, valueFrom: { secretKeyRef: { name: corral-dns, key: token } } }
      - { name: SSL_CERT_FILE, value: /corral/ca.pem }
      - { name: READ_TIMEOUT, value: "600000" }
      - { name: WRITE_TIMEOUT, value: "600000" }
    extraVolumeMounts:
      - { name: corral-ca, mountPath: /corral, readOnly: true }
extraVolumes:
  - { name: corral-ca, configMap: { name: corral-ca } }
hostAliases:
  - { ip: ${JSON.stringify(ip)}, hostnames: [api.hetzner.cloud] }
domainFilters: [${root}.${zone}]
managedRecordTypes: [${managedTypes(coverage).join(', ')}]
extraArgs: ["--txt-prefix=reg-%{record_type}.", "--txt-wildcard-replacement=any", "--webhook-provider-write-timeout=10m"]`;
}

function acmeSh({ endpoint, zone, coverage, token }: TokenUse): string {
  const name = `${certifiedName(coverage)}.${zone}`;
  return `export HETZNER_API=${endpoint}
export HETZNER_TOKEN=${token}
acme.sh --issue --dns dns_hetznercloud -d '${name}' -d '*.${name}'`;
}

function curl(use: TokenUse): string {
  const { name, type, value } = exampleRrset(use);
  const body = JSON.stringify({ name, type, records: [{ value }] });
  return `export DNS_TOKEN=${use.token}
curl -sS -H "Authorization: Bearer $DNS_TOKEN" ${use.endpoint}/zones/${use.zone}/rrsets
curl -sS -H "Authorization: Bearer $DNS_TOKEN" -H 'Content-Type: application/json' \\
  ${use.endpoint}/zones/${use.zone}/rrsets -d ${quotedForShell(body)}`;
}
