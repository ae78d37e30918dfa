import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { externalDnsArgs } from '@corral/domain';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, externalDns, missingOf } from '../support/clients/client-programs.js';
import { apply, applyUntilDone, type Stage, setStage, settledSets } from '../support/clients/matrix/stage.js';
import { sorted, type WantedSet } from '../support/clients/matrix/wanted.js';
import { issueToken, type System, startSystem, ZONE } from '../support/system/start-system.js';

/* What a name on a cluster runs: the code of ExternalDNS. What it installs is in `clients-name-on-a-cluster.test.ts`. */

const client = await externalDns();

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
    const token = await issueToken(system.databaseUrl, team.slug, name);
    const { command } = client as Extract<Client, { kind: 'found' }>;
    const env = {
      HCLOUD_ENDPOINT: system.url,
      HCLOUD_TOKEN: token,
      CORRAL_FLAGS: JSON.stringify(
        externalDnsArgs({ name, zone: ZONE, endpoint: system.url, acmeServer: 'https://acme.example.org/directory' }),
      ),
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
