import { externalDnsArgs } from '@corral/domain';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Client, externalDns, missingOf } from '../support/clients/client-programs.js';
import { apply, applyUntilDone, type Stage, setStage, settledSets } from '../support/clients/matrix/stage.js';
import { sorted, type WantedSet } from '../support/clients/matrix/wanted.js';
import { issueToken, type System, startSystem, ZONE } from '../support/system/start-system.js';
import { type Ends, ownFolder, undo } from '../support/system/system-parts.js';

/* What a name on a cluster runs: the code of ExternalDNS. What it installs is in `clients-name-on-a-cluster.test.ts`. */

const client = await externalDns();

describeNeeding(describe, missingOf(client), 'ExternalDNS with the flags of a name on a cluster', () => {
  let system: System;
  const ends: Ends = [];
  beforeAll(async () => {
    system = await startSystem({ teams: ['acme'] });
    ends.push(system.stop);
  });
  afterAll(() => undo(ends));

  /** ExternalDNS in a cluster that has the name: with a token of its own. */
  async function inCluster(name: string): Promise<Stage> {
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
    const stage = { system, team, folder: await ownFolder(ends), command, env };
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
    const web = await inCluster('shop.acme');
    await system.cloud.putRrset('www.acme', 'A', { records: [{ value: '192.0.2.7' }], ttl: 300 });
    await system.admin('zone', 'sync');
    const others = set('www.acme', '192.0.2.7');

    const wanted = [set('shop.acme', '192.0.2.1'), set('*.shop.acme', '192.0.2.1'), set('eu.shop.acme', '192.0.2.1')];
    await applyUntilDone(web, [...wanted, set('docs.acme', '192.0.2.1')], { runsMax: 1 });
    expect(sorted(await settledSets(web))).toEqual(sorted([...withOwners(wanted), others]));
    expect((await apply(web, wanted)).said).toContain('create 0, update 0, delete 0');

    const batch = await inCluster('shop.acme');
    const moved = [set('shop.acme', '192.0.2.2')];
    await applyUntilDone(batch, moved, { runsMax: 1 });
    expect(sorted(await settledSets(batch))).toEqual(sorted([...withOwners(moved), others]));

    await applyUntilDone(batch, [], { runsMax: 1 });
    expect(await settledSets(batch)).toEqual([others]);
  });
});
