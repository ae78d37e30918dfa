import { waitFor } from '@corral/testing';
import type { RunningConsole } from '../console/running-console.js';

const DAY_MS = 86_400_000;
const CLUSTERS_MS = 300_000;

/** Name below that of the team, type, values, lifetime in seconds, labels. */
const recordSets: readonly (readonly [string, string, readonly string[], number | null, Record<string, string>])[] = [
  ['', 'A', ['192.0.2.10', '192.0.2.11'], 300, { env: 'prod' }],
  ['', 'AAAA', ['2001:db8:10::1'], 300, { env: 'prod' }],
  ['', 'TXT', ['"v=spf1 include:mail.example -all"'], null, {}],
  ['_dmarc', 'TXT', ['"v=DMARC1; p=reject"'], null, {}],
  ['api', 'CNAME', ['web.acme'], 300, { env: 'prod' }],
  ['batch', 'A', ['192.0.2.40'], null, { env: 'prod' }],
  ['docs', 'CNAME', ['pages.example.'], null, {}],
  ['grafana', 'A', ['192.0.2.21'], null, { env: 'prod', team: 'platform' }],
  ['registry', 'A', ['192.0.2.22'], 60, { team: 'platform' }],
  ['staging', 'A', ['192.0.2.80'], 60, { env: 'staging' }],
  ['*.staging', 'CNAME', ['staging.acme'], 60, { env: 'staging' }],
  ['vpn', 'AAAA', ['2001:db8:10::53'], null, {}],
  ['web', 'A', ['192.0.2.12'], 300, { env: 'prod' }],
  ['www', 'CNAME', ['web.acme'], 300, { env: 'prod' }],
];

const poolOf = (machineType: string, minimum: number, maximum: number, name = 'general') => ({
  name,
  machineType,
  minimum,
  maximum,
});

/** Fills a new installation with what a team may have, through its public APIs. */
export async function createExampleTeam(running: RunningConsole): Promise<void> {
  const { dev, api, dns } = running;
  const [team] = dev.teams;
  const slug = team?.slug ?? '';
  const path = `/api/v1/teams/${slug}`;
  for (const [name, type, values, ttl, labels] of recordSets) {
    const records = values.map((value) => ({ value }));
    await dns('POST', '/rrsets', { name: name === '' ? slug : `${name}.${slug}`, type, ttl, records, labels });
  }
  const expiresAt = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();
  const challenge = `_acme-challenge.${slug}`;
  await api('POST', `${path}/dns-tokens/`, { name: 'certificates', withinName: challenge, withinTypes: ['TXT'] });
  await api('POST', `${path}/dns-tokens/`, { name: 'Terraform', expiresAt: expiresAt(9) });
  await api('POST', `${path}/dns-tokens/`, { name: 'ExternalDNS', withinName: `staging.${slug}` });
  const oldProject = { name: 'Old project', provider: 'hcloud', token: 'a-token-of-no-project' };
  await api('PUT', `${path}/connections/old/`, { spec: oldProject });
  await api('POST', `/a/${slug}/team/api/invitations/`, { email: 'grace@example.org', role: 'admin' });

  const { region, kubernetesVersion } = dev.defaults;
  const clusters = {
    web: [poolOf('cpx31', 2, 3), poolOf('cpx41', 1, 2, 'ingress')],
    batch: [poolOf('cpx31', 1, 4)],
    staging: [poolOf('cpx31', 1, 1)],
  };
  const specOf = (name: keyof typeof clusters) => ({
    connectionRef: 'main',
    region,
    kubernetesVersion,
    nodePools: clusters[name],
  });
  for (const name of ['web', 'batch', 'staging'] as const) {
    await api('PUT', `${path}/clusters/${name}/`, { spec: specOf(name) });
  }
  await untilAll(running, path, 'Ready');
  await api('PUT', `${path}/clusters/staging/`, { spec: { ...specOf('staging'), hibernated: true } });
  await untilAll(running, path, 'Ready', 'Hibernated');
}

const untilAll = ({ api }: RunningConsole, path: string, ...phases: readonly string[]) =>
  waitFor(
    `clusters that are all ${phases.join(' or ')}`,
    async () => {
      const { items } = (await api('GET', `${path}/clusters/`)) as { items: { status: { phase: string } }[] };
      return items.every(({ status }) => phases.includes(status.phase));
    },
    { timeoutMs: CLUSTERS_MS },
  );
