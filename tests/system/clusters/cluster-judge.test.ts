import type { Cluster } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import type { RowChange } from '../../support/clusters/row-history.js';
import { type Answer, type Belief, learn } from '../../support/crashes/cluster-belief.js';
import type { Wish } from '../../support/crashes/cluster-steps.js';
import { findDoubleCreations, findShootDifferences, type HeldShoot } from '../../support/crashes/garden-judge.js';
import { findBrokenRules } from '../../support/crashes/row-judge.js';

/* The judge of the crash test must detect each kind of fault: a judge that detects nothing would always pass. */

type Change = Omit<RowChange, 'seq'>;
const history = (changes: readonly Change[]): RowChange[] =>
  changes.map((change, index) => ({ ...change, seq: index + 1 }));

/** Changes of rows of a table. The kind of the first in a transaction decides whether it makes the row. */
const rows =
  (table: string, first: object) =>
  (transaction: number, changes: object = {}, kind: Change['kind'] = 'UPDATE'): Change => ({
    transaction: String(transaction),
    table,
    kind,
    row: { ...first, ...changes },
  });

const operation = rows('operation', {
  id: 'o1',
  kind: 'cluster.update',
  target_id: 'c1',
  target_name: 'web',
  generation: 2,
  desired_hash: 'sha256:1',
  state: 'queued',
  progress: 0,
  error: {},
});
const cluster = rows('cluster', {
  id: 'c1',
  name: 'web',
  generation: 2,
  observed_generation: 1,
  lease_fence: 1,
  started_at: '2026-11-21',
  shoot_name: 'c1234567',
  shoot_uid: 'u1',
});
const audit = rows('audit_entry', { id: 1, action: 'cluster.declare', target_id: 'c1', user_id: 'u1' });

describe('the judge of clusters', () => {
  const accepted = [cluster(1), operation(1, {}, 'INSERT'), audit(1)];
  const running = operation(2, { state: 'running', progress: 40 });
  const succeeded = operation(3, { state: 'succeeded', progress: 100 });
  const done = [...accepted, running, cluster(3, { observed_generation: 2 }), succeeded];
  const second = { id: 'o2', generation: 3 };

  it('finds nothing in a true history', () => {
    expect(findBrokenRules(history(done))).toEqual([]);
  });

  it.each<[problem: string, Change[]]>([
    ['never ended', [...accepted, running]],
    ['operation o1 was removed', [...done, operation(4, {}, 'DELETE')]],
    ['had ended succeeded and became superseded', [...done, operation(4, { state: 'superseded' })]],
    [
      'had ended and got another error',
      [operation(2, { state: 'failed', error: { code: 1 } }), operation(3, { state: 'failed', error: { code: 2 } })],
    ],
    [
      'progress of operation o1 fell from 40 to 39',
      [...accepted, running, operation(3, { state: 'running', progress: 39 })],
    ],
    ['is running at 100', [...accepted, operation(2, { state: 'running', progress: 100 })]],
    ['is failed with error {}', [...accepted, operation(2, { state: 'failed' })]],
    ['desired_hash of operation o1 was', [...accepted, operation(2, { desired_hash: 'sha256:2' })]],
    ['c1 has 2 open operations', [...accepted, cluster(2, { generation: 3 }), operation(2, second, 'INSERT')]],
    [
      'is not of a later generation',
      [...accepted, operation(2, { state: 'superseded' }), operation(2, { ...second, generation: 2 }, 'INSERT')],
    ],
    ['is succeeded without a reason', [...accepted, cluster(3), succeeded]],
    ['is superseded without a reason', [...accepted, operation(2, { state: 'superseded' })]],
    ['is cancelled without a reason', [...accepted, operation(2, { state: 'cancelled' })]],
    ['generation of cluster c1 fell', [cluster(1), cluster(2, { generation: 1 })]],
    ['was observed at 3 of 2', [cluster(1, { observed_generation: 3 })]],
    ['lease_fence of cluster c1 fell', [cluster(1), cluster(2, { lease_fence: 0 })]],
    ['shoot_uid of cluster c1 was u1 and became u2', [cluster(1), cluster(2, { shoot_uid: 'u2' })]],
    ['started_at of cluster c1 was', [cluster(1), cluster(2, { started_at: null })]],
    ['was accepted without its own audit entry', [cluster(1), operation(1, {}, 'INSERT')]],
    ['(cluster.update) was accepted without its own', [operation(1, {}, 'INSERT'), audit(2)]],
    ['o1 (cluster.update) was accepted without', [operation(1, {}, 'INSERT'), audit(1), audit(1, { id: 2 })]],
    ['was removed without an audit entry', [cluster(1, {}, 'DELETE')]],
    ['user_id of audit_entry 1 was u1 and became u2', [audit(1), audit(2, { user_id: 'u2' }, 'UPDATE')]],
  ])('reports: %s', (problem, changes) => {
    expect(findBrokenRules(history(changes)).join('\n')).toContain(problem);
  });
});

describe('the judge of the garden', () => {
  const pool = { name: 'general', source: 'managed', machineType: 'cpx31', minimum: 0, maximum: 3 } as const;
  const declared = {
    metadata: { id: 'c1', name: 'web' },
    spec: {
      region: 'hel1',
      kubernetesVersion: '1.34',
      hibernated: false,
      controlPlaneHA: false,
      network: { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' },
      nodePools: [pool, { ...pool, name: 'spare', maximum: 0 }],
    },
    status: { phase: 'Ready' },
  } as unknown as Cluster;
  const labels = { 'corral.dev/pool': 'general' };
  const shoot: HeldShoot = {
    metadata: { name: 'c1234567', namespace: 'garden-t', uid: 'u1', labels: { 'corral.dev/cluster-id': 'c1' } },
    spec: {
      region: 'hel1',
      kubernetes: { version: '1.34.3' },
      hibernation: { enabled: false },
      networking: { nodes: '10.250.0.0/16', pods: '10.244.0.0/16', services: '10.96.0.0/16' },
      provider: { workers: [{ name: 'p12345', minimum: 1, maximum: 3, machine: { type: 'cpx31' }, labels }] },
    },
  };
  const altered = (changes: object): HeldShoot => ({ ...shoot, spec: { ...shoot.spec, ...changes } });
  const other = { ...shoot, metadata: { name: 'other', namespace: 'garden-t', uid: 'u2' } };

  it('finds nothing where declared clusters have Shoots, and drafts have none', () => {
    expect(findShootDifferences([declared], [shoot])).toEqual([]);
    expect(findShootDifferences([{ ...declared, status: { phase: 'Draft' } } as Cluster], [])).toEqual([]);
  });

  it.each<[difference: string, HeldShoot[]]>([
    ['cluster web (c1) has 0 Shoots', []],
    ['cluster web (c1) has 2 Shoots', [shoot, { ...shoot, metadata: { ...shoot.metadata, uid: 'u2' } }]],
    ['Shoot other belongs to no cluster', [shoot, other]],
    ['region of cluster web (c1) is "fsn1"', [altered({ region: 'fsn1' })]],
    ['hibernated of cluster web (c1) is true', [altered({ hibernation: { enabled: true } })]],
    ['cluster web runs 1.33.7', [altered({ kubernetes: { version: '1.33.7' } })]],
  ])('reports: %s', (difference, shoots) => {
    expect(findShootDifferences([declared], shoots)).toEqual([expect.stringContaining(difference)]);
  });

  it('finds a Shoot that was created twice, even if the first is gone, and one without a declaration', () => {
    const life = { name: 'c1234567', uid: 'u1' };
    const names = new Set(['c1234567']);

    expect(findDoubleCreations([life], names)).toEqual([]);
    expect(findDoubleCreations([life, { ...life, uid: 'u2' }], names)).toEqual(['Shoot c1234567 was made 2 times']);
    expect(findDoubleCreations([life], new Set())).toEqual(['Shoot c1234567 was made for no cluster']);
  });
});

describe('the judge of servers', () => {
  const first = { id: 's1', server_id: 4711, phase: 'Adopting', generation: 1, lease_fence: 1, claim_token: 'mine' };
  const server = rows('adopted_server', { ...first, rebuild_action_id: null });
  const adoption = (transaction: number, changes: object = {}, kind: Change['kind'] = 'UPDATE') =>
    operation(transaction, { kind: 'server.adopt', target_id: 's1', generation: 1, ...changes }, kind);
  const accepted = [server(1, {}, 'INSERT'), adoption(1, {}, 'INSERT'), audit(1)];
  const asked = server(2, { phase: 'Rebuilding', rebuild_action_id: 7 });
  const ready = { phase: 'Ready', rebuild_action_id: 7 };
  const done = [...accepted, asked, server(3, ready), adoption(3, { state: 'succeeded', progress: 100 })];
  const detachment = { id: 'o2', kind: 'server.deregister' };
  const detached = [
    ...done,
    server(4, { phase: 'Deregistering', rebuild_action_id: 7 }),
    adoption(4, detachment, 'INSERT'),
    audit(4, { id: 2 }),
    server(5, { rebuild_action_id: 7 }, 'DELETE'),
    adoption(5, { ...detachment, state: 'succeeded', progress: 100 }),
  ];
  const rebuiltAgain = server(6, { id: 's2', claim_token: 'other', rebuild_action_id: 7 }, 'INSERT');
  const readyTooSoon = [server(2, { phase: 'Ready' }), adoption(2, { state: 'succeeded' })];

  it('finds nothing in a true history', () => {
    expect(findBrokenRules(history(detached))).toEqual([]);
  });

  it.each<[problem: string, Change[]]>([
    ['took up another rebuild', [...accepted, asked, server(3, { rebuild_action_id: 8 })]],
    ['rebuild 7 counts for 2', [...detached, rebuiltAgain]],
    ['claim_token of adopted_server s1 was', [...done, server(4, { ...ready, claim_token: 'other' })]],
    ['lease_fence of adopted_server s1 fell', [...done, server(4, { ...ready, lease_fence: 0 })]],
    ['(server.adopt) is succeeded without a reason', [...accepted, ...readyTooSoon]],
    ['is superseded without a reason', [...accepted, adoption(2, { state: 'superseded' })]],
    [
      '(server.deregister) is succeeded without',
      [...done, adoption(4, { ...detachment, state: 'succeeded' }, 'INSERT')],
    ],
  ])('reports: %s', (problem, changes) => {
    expect(findBrokenRules(history(changes)).join('\n')).toContain(problem);
  });
});

describe('a client that is the only one of its cluster', () => {
  const surroundings = { name: 'web', connectionRef: 'main', region: 'hel1' };
  const pool = { name: 'general', machineType: 'cx22', minimum: 0, maximum: 3 };
  const spec = { controlPlaneHA: false, plan: 'payg', kubernetesVersion: '1.33' } as const;
  const answer = (status: number): Answer => ({ status, tries: 1, code: undefined });
  const absent: Belief = { kind: 'absent' };
  const { belief: present } = learn(absent, { kind: 'declare', spec, pools: [pool] }, answer(202), surroundings);

  it('knows the whole specification that it declared', () => {
    const network = { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' };
    const nodePools = [{ ...pool, source: 'managed', image: {}, publicIP: true }];
    const { name: _, ...place } = surroundings;
    const kept = { hibernated: false, deletionProtection: false, network, nodePools };
    expect(present).toEqual({ kind: 'present', spec: { ...place, ...spec, ...kept } });
  });

  it.each<Wish>([{ kind: 'resume' }, { kind: 'remove' }, { kind: 'removePool', name: 'general' }])(
    'reports that what it has is lost: %j',
    (wish) => {
      expect(learn(present, wish, answer(404), surroundings).problem).toMatch(/^web was/);
    },
  );
});
