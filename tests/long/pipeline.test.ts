import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Operation } from '@corral/contracts';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { type Corral, corralCommand } from '../support/cli/corral.js';
import { type ClusterSystem, type ClusterTeam, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { seed } from '../support/crashes/draw.js';
import { whileCrashing } from '../support/crashes/while-crashing.js';

/*
 * A pipeline with the token of a service account declares clusters, changes them again and again and deletes a third, while both services
 * are killed. Then what it reported is compared with what there is.
 */

const CLUSTERS = 40;
const KILLS = 40;
const RUN_MS = 1_800_000;
/** What a pipeline may see while services come and go. Anything else is a mistake. */
const EXPECTED_CODES = [0, 1, 5, 6, 7];
const TRIES_MAX = 20;

let system: ClusterSystem;
let corral: Corral;
let team: ClusterTeam;
beforeAll(async () => {
  system = await startClusterSystem({
    apiEnv: { CLUSTERS_PER_TEAM: String(CLUSTERS) },
    speed: { createMs: 300, reconcileMs: 100, deleteMs: 100 },
  });
  [team] = system.teams as [ClusterTeam];
  const account = '/service-accounts/ci/';
  await team.admin.insist({ method: 'PUT', path: account, body: { spec: { role: 'member' } } });
  const issued = await team.admin.insist({ method: 'POST', path: `${account}tokens/`, body: { expiresInDays: 1 } });
  const [url, token] = [system.apis[0]?.base, issued.json.token];
  corral = await corralCommand({ CORRAL_URL: url, CORRAL_TOKEN: token, CORRAL_TEAM: team.slug });
});
afterAll(async () => {
  await corral?.remove();
  await system?.stop();
});

/** What the command said about a cluster in one run. */
interface Report {
  readonly name: string;
  readonly operation: { readonly id: string; readonly state: string | null } | null;
}

it(
  `a pipeline creates, changes and deletes ${CLUSTERS} clusters and reports what is true, although both services are killed (seed ${seed})`,
  async () => {
    const names = Array.from({ length: CLUSTERS }, (_none, at) => `c${at + 1}`);
    /** The clusters that are declared, with the most nodes of their pool. */
    const declared = new Map(names.map((name) => [name, 1]));
    const deleted = names.filter((_name, at) => at % 3 === 0);
    const reports: Report[] = [];
    const file = join(corral.folder, 'clusters.yaml');

    /** Runs a command until it succeeds, as a pipeline does. */
    const insist = async (...args: string[]): Promise<void> => {
      for (let tries = 1; ; tries += 1) {
        const { code, out, err } = await corral.run(...args, '-o', 'json');
        reports.push(...(out === '' ? [] : [JSON.parse(out) as Report | Report[]].flat()));
        if (code === 0) return;
        expect(EXPECTED_CODES).toContain(code);
        if (tries === TRIES_MAX) throw new Error(`corral ${args.join(' ')} never succeeded: ${err}`);
      }
    };
    const apply = async (): Promise<void> => {
      await rm(file, { force: true });
      await writeFile(file, [...declared].map(([name, maximum]) => documentOf(name, maximum)).join('---\n'));
      await insist('clusters', 'apply', '-f', file, '--wait', '--timeout', '10m');
    };
    // What the command says is what it was answered.
    const programs = [...system.apis, ...system.reconcilers];
    const crashes = { seed, programs, answers: corral.lines, isEnough: (kills: number) => kills >= KILLS };
    const { problems } = await whileCrashing(crashes, async ({ isOver }) => {
      for (let round = 0; round < 2 || !isOver(); round += 1) {
        for (const name of names.filter((_name, at) => at % 2 === round % 2))
          declared.set(name, (declared.get(name) ?? 0) + 1);
        await apply();
      }
      for (const name of deleted) {
        declared.delete(name);
        await insist('clusters', 'delete', name, '--yes', '--wait', '--ignore-not-found');
      }
      await apply();
    });

    expect(problems).toEqual([]);
    expect(await corral.run('clusters', 'diff', '-f', file)).toMatchObject({ code: 0 });
    const clusters = await Promise.all(names.map((name) => team.admin.findCluster(name)));
    expect(clusters.map((each) => each && [each.status.phase, each.spec.nodePools[0]?.maximum])).toEqual(
      names.map((name) => (declared.has(name) ? ['Ready', declared.get(name)] : null)),
    );
    const lives = await system.garden.lives();
    expect(lives).toHaveLength(names.length);
    for (const { operation } of reports) {
      if (operation === null || operation.state === null) continue;
      const { json } = await team.admin.insist({ method: 'GET', path: `/operations/${operation.id}/` });
      expect((json as Operation).state).toBe(operation.state);
    }
  },
  RUN_MS,
);

/** A cluster, as it is in git. */
const documentOf = (name: string, maximum: number): string =>
  stringify({
    apiVersion: 'clusters.corral.dev/v1',
    kind: 'Cluster',
    metadata: { name },
    spec: {
      ...system.surroundings,
      kubernetesVersion: '1.34',
      nodePools: [{ name: 'general', machineType: 'cx22', minimum: 1, maximum }],
    },
  });
