import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Effect, fieldText, shortEffect } from '../src/clusters/effect-text.js';
import { type PlannedChange, removalsIn } from '../src/clusters/planned-change.js';
import type { Cluster } from '../src/clusters/team-api.js';
import { goalOf } from '../src/clusters/wait.js';
import { type Folder, type RunOptions, temporaryFolder } from './support/run-corral.js';
import { aCluster, type FakeClusters, removalOf, runOn, startClusters } from './support/start-clusters.js';

/* What `clusters apply` asks for, and whom, before anything is changed. */

let folder: Folder;
let api: FakeClusters;
const web = aCluster({ plan: 'payg', nodePools: [{ name: 'general' }, { name: 'own' }] });
beforeEach(async () => {
  folder = await temporaryFolder();
  api = await startClusters();
  api.clusters.set('web', web);
});
afterEach(async () => {
  await api.close();
  await folder.remove();
});

const corral = (args: readonly string[], at: RunOptions = {}) => runOn(api, folder, args, at);
const documentOf = (name: string, plan: string, pools = ['general', 'own']) =>
  JSON.stringify({
    apiVersion: 'clusters.corral.dev/v1',
    kind: 'Cluster',
    metadata: { name },
    spec: { plan, nodePools: pools.map((pool) => ({ name: pool })) },
  });
async function run(command: 'apply' | 'diff', documents: readonly string[], options: string[] = [], at = {}) {
  const file = folder.file('clusters.yaml');
  await writeFile(file, documents.join('\n---\n'));
  return corral(['--team', 'acme', 'clusters', command, '-f', file, ...options], at);
}
const removal = [documentOf('web', 'payg', ['general'])];

describe('a change that removes a node pool', () => {
  it('is refused where nobody can be asked, after its plan', async () => {
    const { code, err } = await run('apply', removal, ['--yes']);

    expect({ code, sent: api.sent }).toEqual({ code: 2, sent: [] });
    expect(err).toContain('node pool own removed 1–2 → none nodes. Its adopted servers are drained');
    expect(err).toContain('record set www.acme.example.test A leads to it: 192.0.2.1');
    expect(err).toContain(
      'This removes or replaces nodes of web (node pool own removed). No terminal to prompt on. Pass --allow-removals',
    );
  });

  it.each<[what: string, options: string[], at: object]>([
    ['where it is permitted', ['--allow-removals'], {}],
    ['on a terminal after yes', [], { terminal: true, input: 'y\n' }],
    ['on a terminal with --yes, which does not ask', ['--yes'], { terminal: true }],
  ])('is made %s', async (_what, options, at) => {
    const { code, err } = await run('apply', removal, options, at);

    expect({ code, sent: api.sent }).toEqual({ code: 0, sent: ['PUT web'] });
    expect(err).toContain('node pool own removed');
  });

  it('is named by the answer', async () => {
    const { out } = await run('apply', removal, ['--allow-removals']);
    api.clusters.set('web', web);
    const data = await run('apply', removal, ['--allow-removals', '-o', 'json']);

    expect(out).toMatch(/REMOVALS\nweb +changed +o1 +- +node pool own removed\n/);
    expect(JSON.parse(data.out)).toMatchObject([{ name: 'web', result: 'changed', removals: [removalOf('own')] }]);
  });

  it('is not made on a terminal after no', async () => {
    expect(await run('apply', removal, ['--allow-removals'], { terminal: true, input: 'n\n' })).toMatchObject({
      code: 1,
      err: expect.stringContaining('Nothing was changed.'),
    });
    expect(api.sent).toEqual([]);
  });

  it('is said by a dry run to need permission', async () => {
    expect(await run('apply', removal, ['--dry-run'])).toMatchObject({
      code: 0,
      err: 'This removes or replaces nodes of web (node pool own removed). It needs --allow-removals.\n',
    });
  });
});

describe('other changes', () => {
  it('are made without a question where nobody can be asked, after their plan', async () => {
    const { code, err } = await run('apply', [documentOf('web', 'annual')]);

    expect({ code, sent: api.sent }).toEqual({ code: 0, sent: ['PUT web'] });
    expect(err).toContain('spec.plan: payg → annual');
  });

  it('of what somebody changed meanwhile are not made, and say which fields are how', async () => {
    const pools = [{ name: 'general' }, { name: 'own' }];
    api.meanwhile = () =>
      api.clusters.set('web', { ...aCluster({ plan: 'monthly', nodePools: pools }), generation: 2 });

    const { code, err } = await run('apply', [documentOf('web', 'annual')]);

    expect({ code, sent: api.sent }).toEqual({ code: 5, sent: [] });
    expect(err).toContain(
      'corral: web: Cluster web has changed since the plan: spec.plan is monthly now, and annual is wanted. ' +
        'Run the command again for a new plan.',
    );
    expect(err).not.toContain('web.2');
  });
});

describe('documents of which some are wrong', () => {
  const documents = [documentOf('web', 'annual'), documentOf('web2', 'wrong'), '{"kind": "Pod"}'];
  beforeEach(() => void api.clusters.set('web2', aCluster({ plan: 'payg' })));

  it('have a plan or an error each, as text and as data', async () => {
    const { code, out, err } = await run('diff', documents);
    const data = await run('diff', documents, ['-o', 'json']);

    expect(code).toBe(2);
    expect(out).toContain('spec.plan: payg → annual');
    expect(err).toMatch(
      /^corral: .*document 2: validation_failed\..*\ncorral: .*document 3: kind has to be Cluster.*\n$/,
    );
    expect(JSON.parse(data.out)).toMatchObject([
      { name: 'web', error: null, changes: [{ to: 'annual' }] },
      { name: 'web2', error: expect.stringContaining('document 2') },
      { name: null, error: expect.stringContaining('document 3') },
    ]);
  });

  it('change nothing', async () => {
    const { code, out, err } = await run('apply', documents.slice(0, 2), ['-o', 'json', '--yes']);

    expect({ code, sent: api.sent }).toEqual({ code: 1, sent: [] });
    expect(err).toContain('Nothing was changed.');
    expect(JSON.parse(out)).toMatchObject([
      { name: 'web', result: 'skipped' },
      { name: 'web2', result: 'failed', exitCode: 1, error: expect.stringContaining('document 2') },
    ]);
    expect((await run('apply', [documents[0] as string, documents[2] as string])).code).toBe(2);
    expect(api.sent).toEqual([]);
  });
});

describe('record sets that lead to a cluster', () => {
  it('are listed before it is deleted', async () => {
    api.clusters.set('web', aCluster());

    const { code, out } = await corral(['--team', 'acme', 'clusters', 'delete', 'web', '--dry-run']);

    expect([code, api.sent]).toEqual([0, []]);
    expect(out).toContain('record set www.acme.example.test A leads to it: 192.0.2.1');
  });

  it('are listed with the reason when it is gone', async () => {
    const { code, out } = await corral(['--team', 'acme', 'dns', 'dangling']);

    expect([code, out]).toEqual([0, expect.stringMatching(/^www\.acme\.example\.test +A +It was a node\.$/m)]);
  });
});

it('waiting for a cluster that does not exist ends with 4, and does not call it deleted', async () => {
  const { code, err } = await corral(['--team', 'acme', 'clusters', 'wait', 'nope']);

  expect([code, err]).toEqual([4, 'corral: Team acme has no cluster nope, or you have no access to it.\n']);
});

type Nodes = readonly [before: number | null, after: number | null];

const poolEffect = (kind: string, [before, after]: Nodes, name = 'general') => {
  const range = (maximum: number | null) => (maximum === null ? null : { minimum: 0, maximum });
  return { target: 'nodePool', pool: name, kind, nodes: { before: range(before), after: range(after) } };
};
const clusterEffect = (kind: string) => ({ target: 'cluster', kind });
const planned = (...effects: object[]) =>
  ({
    current: {
      spec: {
        nodePools: [
          { name: 'general', source: 'managed' },
          { name: 'own', source: 'onprem' },
        ],
      },
    },
    plan: { effects: effects as Effect[] },
  }) as unknown as PlannedChange;

it.each<[what: string, effect: object, removals: string[]]>([
  ['a removed pool', poolEffect('removed', [3, null]), ['node pool general removed']],
  ['a removed pool without nodes', poolEffect('removed', [0, null]), []],
  ['replaced nodes', poolEffect('replaced', [3, 3]), ['node pool general replaced']],
  ['nodes of a cluster that hibernates', poolEffect('scaled', [3, 0]), ['node pool general scaled']],
  ['fewer adopted servers', poolEffect('scaled', [3, 2], 'own'), ['node pool own scaled']],
  ['more adopted servers', poolEffect('scaled', [2, 3], 'own'), []],
  // The autoscaler adds and removes such nodes all the time.
  ['a smaller range of managed nodes', poolEffect('scaled', [6, 3]), []],
  ['an added pool', poolEffect('added', [null, 3]), []],
  ['a kept pool', poolEffect('kept', [3, 3]), []],
  ['an updated pool', poolEffect('updated', [3, 3]), []],
  ['a deleted cluster', clusterEffect('deleted'), ['cluster deleted']],
  // It may replace any node.
  ['changes of others that are set back', clusterEffect('repaired'), ['cluster repaired']],
  ['a patch version', clusterEffect('upgraded'), []],
])('what a change takes away %s', (_what, effect, removals) => {
  expect(removalsIn(planned(effect)).map(shortEffect)).toEqual(removals);
});

it('a changed field says what it was and what it becomes', () => {
  expect(fieldText({ pointer: '/spec/nodePools/0/maximum', from: 6, to: 3 })).toBe('spec.nodePools[0].maximum: 6 → 3');
});

const clusterIn = (phase: string, observedGeneration = 2, conditions: object[] = []) =>
  ({ metadata: { generation: 2, observedGeneration }, status: { phase, conditions } }) as unknown as Cluster;

describe('what is waited for', () => {
  it.each([
    ['ready', clusterIn('Ready'), true],
    ['ready', clusterIn('Updating'), false],
    // It is about an earlier declaration.
    ['ready', clusterIn('Ready', 1), false],
    ['ready', null, false],
    ['hibernated', clusterIn('Hibernated'), true],
    ['deleted', null, true],
    ['deleted', clusterIn('Deleting'), false],
    ['phase=degraded', clusterIn('Degraded', 1), true],
    ['condition=NodesReady', clusterIn('Ready', 2, [{ type: 'NodesReady', status: 'True' }]), true],
    ['condition=NodesReady', clusterIn('Ready', 2, [{ type: 'NodesReady', status: 'Unknown' }]), false],
  ])('%s', (goal, found, isReached) => {
    expect(goalOf(goal).isReached(found)).toBe(isReached);
  });

  it.each(['', 'happy', 'phase=Happy', 'condition='])('cannot be %j', (goal) => {
    expect(() => goalOf(goal)).toThrow(/Use one of|Use --for/);
  });
});
