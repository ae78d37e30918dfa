import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dnsTokenStore, teamStore } from '@corral/auth';
import { connectPrisma } from '@corral/database';
import { externalDnsArgs, type HostedName, leftoverOf, type Manifest, objectsOfName } from '@corral/domain';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, externalDns, missingOf } from '../support/clients/client-programs.js';
import { apply, applyUntilDone, type Stage, setStage, settledSets } from '../support/clients/matrix/stage.js';
import { sorted, type WantedSet } from '../support/clients/matrix/wanted.js';
import { type ApiServer, missingApiServer, startApiServer } from '../support/kubernetes/start-api-server.js';
import { type System, startSystem, ZONE } from '../support/system/start-system.js';

/* What a name on a cluster installs, as far as it runs without nodes: the code of ExternalDNS, and an API server of Kubernetes. */

const client = await externalDns();
const nameOf = (name: string, endpoint: string): HostedName => ({
  name,
  zone: ZONE,
  endpoint,
  acmeServer: 'https://acme.example.org/directory',
});

describeNeeding(describe, missingOf(client), 'ExternalDNS with the flags of a name on a cluster', () => {
  let system: System;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corral-names-'));
    system = await startSystem({ teams: ['acme'] });
  });
  afterAll(async () => {
    await system?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** ExternalDNS in a cluster that has the name: with a token of its own. */
  async function inCluster(cluster: string, name: string): Promise<Stage> {
    const [team] = system.teams as [System['teams'][number]];
    const prisma = connectPrisma(system.databaseUrl);
    const found = await teamStore(prisma).findTeam(team.slug);
    if (found === null) throw new Error(`There is no team ${team.slug}.`);
    const { token } = await dnsTokenStore(prisma).issueToken(found, { name: cluster, withinName: name });
    await prisma.$disconnect();
    const { command } = client as Extract<Client, { kind: 'found' }>;
    const env = {
      HCLOUD_ENDPOINT: system.url,
      HCLOUD_TOKEN: token,
      CORRAL_FLAGS: JSON.stringify(externalDnsArgs(nameOf(name, system.url))),
    };
    const stage = { system, team, folder: join(folder, cluster), command, env };
    return setStage(stage, { folder: 'external-dns', snippets: ['values.yaml'] });
  }
  const set = (name: string, value: string): WantedSet => ({ name, type: 'A', ttl: 300, values: [value] });
  const withOwners = (wanted: readonly WantedSet[]): WantedSet[] => [
    ...wanted,
    ...wanted.map(({ name }) => ({
      name: `reg-a.${name.replace(/^\*/, 'any')}`,
      type: 'TXT' as const,
      ttl: 0,
      values: ['"heritage=external-dns,external-dns/owner=corral"'],
    })),
  ];

  it('keeps the name and what is below it, and nothing else; another cluster with the name takes its records over', async () => {
    const web = await inCluster('web', 'shop.acme');
    await system.cloud.putRrset('www.acme', 'A', { records: [{ value: '192.0.2.7' }], ttl: 300 });
    await system.admin('zone', 'sync');
    const others = set('www.acme', '192.0.2.7');

    const wanted = [set('shop.acme', '192.0.2.1'), set('*.shop.acme', '192.0.2.1'), set('eu.shop.acme', '192.0.2.1')];
    await applyUntilDone(web, [...wanted, set('docs.acme', '192.0.2.1')], { runsMax: 1 });
    expect(sorted(await settledSets(web))).toEqual(sorted([...withOwners(wanted), others]));
    expect((await apply(web, wanted)).said).toContain('create 0, update 0, delete 0');

    const batch = await inCluster('batch', 'shop.acme');
    const moved = [set('shop.acme', '192.0.2.2')];
    await applyUntilDone(batch, moved, { runsMax: 1 });
    expect(sorted(await settledSets(batch))).toEqual(sorted([...withOwners(moved), others]));

    await applyUntilDone(batch, [], { runsMax: 1 });
    expect(await settledSets(batch)).toEqual([others]);
  });
});

describeNeeding(describe, missingApiServer(), 'the objects of a name in Kubernetes', () => {
  let server: ApiServer;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'corral-api-server-'));
    server = await startApiServer(folder);
    await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'cert-manager' } });
  }, 180_000);
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('are applied without a warning about a field, again without a change, and deleted', async () => {
    const shop = nameOf('shop.acme', 'https://dns.example.org/v1');
    const { records, certificates } = objectsOfName(shop, { id: 'the-id', text: 'the-text' });
    const objects = [...records, ...certificates.filter(({ kind }) => kind === 'Secret')];

    const versions = async () => {
      const applied: string[] = [];
      for (const each of objects) applied.push((await server.apply(each)).metadata.resourceVersion);
      return applied;
    };
    expect(await versions()).toEqual(await versions());

    const isCustom = ({ kind }: Manifest) => kind === 'ClusterIssuer';
    for (const each of leftoverOf(shop, []).filter((object) => !isCustom(object))) await server.remove(each);
  });
});
