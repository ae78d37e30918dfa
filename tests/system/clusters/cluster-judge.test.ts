import type { Cluster } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import {
  findDoubleCreations,
  findShootDifferences,
  type HeldShoot,
} from '../../support/cluster-crashes/judge-garden.js';
import {
  type AuditRow,
  type ClusterRow,
  findAuditGaps,
  findBrokenClusters,
  findBrokenOperations,
  findRivalOperations,
  findUnfoundedEnds,
  type OperationRow,
  rowsAtEnd,
} from '../../support/cluster-crashes/judge-rows.js';
import type { RowChange } from '../../support/clusters/row-history.js';

/** The judge of the crash test must detect each kind of fault: a judge that detects nothing would always pass. */

type Kind = RowChange['kind'];
interface RowChangeFields {
  readonly transaction: number;
  readonly table: string;
  readonly kind: Kind;
  readonly row: object;
}

const history = (...changes: RowChangeFields[]): RowChange[] =>
  changes.map((change, index) => ({ ...change, seq: index + 1, transaction: String(change.transaction) }));

const operation = (
  transaction: number,
  changes: Partial<OperationRow> = {},
  kind: Kind = 'UPDATE',
): RowChangeFields => ({
  transaction,
  kind,
  table: 'operation',
  row: {
    id: 'o1',
    kind: 'cluster.update',
    target_id: 'c1',
    target_name: 'web',
    generation: 2,
    desired_hash: 'sha256:1',
    state: 'queued',
    progress: 0,
    error: {},
    ...changes,
  },
});
const cluster = (transaction: number, changes: Partial<ClusterRow> = {}, kind: Kind = 'UPDATE'): RowChangeFields => ({
  transaction,
  kind,
  table: 'cluster',
  row: {
    id: 'c1',
    name: 'web',
    generation: 2,
    observed_generation: 1,
    lease_fence: 1,
    started_at: '2026-11-21',
    shoot_name: 'c1234567',
    shoot_uid: 'u1',
    ...changes,
  },
});
const audit = (transaction: number, changes: Partial<AuditRow> = {}, kind: Kind = 'INSERT'): RowChangeFields => ({
  transaction,
  kind,
  table: 'audit_entry',
  row: { id: 1, action: 'cluster.declare', target_id: 'c1', user_id: 'u1', ...changes },
});

const accepted = [cluster(1), operation(1, {}, 'INSERT'), audit(1)];
const running = operation(2, { state: 'running', progress: 40 });
const converged = [cluster(3, { observed_generation: 2 }), operation(3, { state: 'succeeded', progress: 100 })];
const second = { id: 'o2', generation: 3 };

const judges = {
  'operations that break their rules': findBrokenOperations,
  'operations that rival': findRivalOperations,
  'ends without a reason': findUnfoundedEnds,
  'clusters that break their rules': findBrokenClusters,
  'gaps of the audit log': findAuditGaps,
};

describe('the judge reports', () => {
  const done = [...accepted, running, ...converged];

  it.each<[keyof typeof judges, string, RowChangeFields[], RegExp]>([
    ['operations that break their rules', 'an operation that never ended', [...accepted, running], /never ended/],
    [
      'operations that break their rules',
      'an operation that was removed',
      [...done, operation(4, {}, 'DELETE')],
      /removed/,
    ],
    [
      'operations that break their rules',
      'a final state that changed',
      [...done, operation(4, { state: 'superseded' })],
      /had ended succeeded and became superseded/,
    ],
    [
      'operations that break their rules',
      'an error that changed',
      [
        ...accepted,
        operation(2, { state: 'failed', error: { code: 'provider_capacity' } }),
        operation(3, { state: 'failed', error: { code: 'internal_error' } }),
      ],
      /another error/,
    ],
    [
      'operations that break their rules',
      'progress that fell',
      [...accepted, running, operation(3, { state: 'running', progress: 39 }), ...converged],
      /fell from 40 to 39/,
    ],
    [
      'operations that break their rules',
      'full progress before the end',
      [...accepted, operation(2, { state: 'running', progress: 100 }), ...converged],
      /running at 100/,
    ],
    [
      'operations that break their rules',
      'an error without a failure',
      [...accepted, operation(2, { state: 'failed' })],
      /with error/,
    ],
    [
      'operations that break their rules',
      'another hash',
      [...accepted, operation(2, { state: 'succeeded', progress: 100, desired_hash: 'sha256:2' })],
      /desired_hash/,
    ],
    [
      'operations that rival',
      'two open operations',
      [...accepted, cluster(2, { generation: 3 }), operation(2, second, 'INSERT')],
      /2 open operations/,
    ],
    [
      'operations that rival',
      'two operations of one generation',
      [...accepted, operation(2, { state: 'superseded' }), operation(2, { ...second, generation: 2 }, 'INSERT')],
      /not of a later generation/,
    ],
    [
      'ends without a reason',
      'success before the garden converged',
      [...accepted, cluster(3), operation(3, { state: 'succeeded', progress: 100 })],
      /is succeeded without a reason/,
    ],
    [
      'ends without a reason',
      'superseded by nothing',
      [...accepted, operation(2, { state: 'superseded' })],
      /is superseded without a reason/,
    ],
    [
      'ends without a reason',
      'cancelled although the cluster stays',
      [...accepted, operation(2, { state: 'cancelled' })],
      /is cancelled without a reason/,
    ],
    [
      'clusters that break their rules',
      'a generation that fell',
      [cluster(1), cluster(2, { generation: 1 })],
      /^generation/,
    ],
    [
      'clusters that break their rules',
      'a generation observed before it was declared',
      [cluster(1, { observed_generation: 3 })],
      /observed at 3 of 2/,
    ],
    [
      'clusters that break their rules',
      'a fence that fell',
      [cluster(1), cluster(2, { lease_fence: 0 })],
      /^lease_fence/,
    ],
    [
      'clusters that break their rules',
      'another Shoot',
      [cluster(1), cluster(2, { shoot_uid: 'u2' })],
      /another Shoot/,
    ],
    ['clusters that break their rules', 'a draft again', [cluster(1), cluster(2, { started_at: null })], /draft again/],
    [
      'gaps of the audit log',
      'a change without an author',
      [cluster(1), operation(1, {}, 'INSERT')],
      /without its own audit entry/,
    ],
    [
      'gaps of the audit log',
      'an entry of another transaction',
      [operation(1, {}, 'INSERT'), audit(2)],
      /without its own audit entry/,
    ],
    [
      'gaps of the audit log',
      'two entries for one change',
      [operation(1, {}, 'INSERT'), audit(1), audit(1, { id: 2 })],
      /without its own audit entry/,
    ],
    ['gaps of the audit log', 'a removal without a request', [cluster(1, {}, 'DELETE')], /removed without/],
    [
      'gaps of the audit log',
      'an entry that was altered',
      [audit(1), audit(2, { user_id: 'u2' }, 'UPDATE')],
      /altered/,
    ],
  ])('%s: %s', (judge, _case, changes, problem) => {
    expect(judges[judge](history(...changes))[0]).toMatch(problem);
  });

  it('does not report the last state of a deleted row', () => {
    const rows = rowsAtEnd<ClusterRow>(
      history(cluster(1), cluster(2, {}, 'DELETE'), cluster(3, { id: 'c2' })),
      'cluster',
    );

    expect(rows.map(({ id }) => id)).toEqual(['c2']);
  });
});

describe('the garden', () => {
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
  const worker = {
    name: 'p12345',
    minimum: 1,
    maximum: 3,
    machine: { type: 'cpx31' },
    labels: { 'corral.dev/pool': 'general' },
  };
  const shoot: HeldShoot = {
    metadata: { name: 'c1234567', namespace: 'garden-t', uid: 'u1', labels: { 'corral.dev/cluster-id': 'c1' } },
    spec: {
      region: 'hel1',
      kubernetes: { version: '1.34.3' },
      hibernation: { enabled: false },
      networking: { nodes: '10.250.0.0/16', pods: '10.244.0.0/16', services: '10.96.0.0/16' },
      provider: { workers: [worker] },
    },
  };
  const altered = (changes: object): HeldShoot => ({ ...shoot, spec: { ...shoot.spec, ...changes } });

  it('holds the declared clusters', () => {
    expect(findShootDifferences([declared], [shoot])).toEqual([]);
    expect(findShootDifferences([{ ...declared, status: { phase: 'Draft' } } as Cluster], [])).toEqual([]);
  });

  it.each<[string, HeldShoot[], RegExp]>([
    ['no Shoot', [], /has 0 Shoots/],
    ['two Shoots', [shoot, { ...shoot, metadata: { ...shoot.metadata, uid: 'u2' } }], /has 2 Shoots/],
    [
      'a Shoot without a cluster',
      [shoot, { ...shoot, metadata: { name: 'other', namespace: 'garden-t', uid: 'u2' } }],
      /belongs to no cluster/,
    ],
    ['another region', [altered({ region: 'fsn1' })], /^region/],
    ['a hibernated cluster', [altered({ hibernation: { enabled: true } })], /^hibernated/],
    ['an older version', [altered({ kubernetes: { version: '1.33.7' } })], /runs 1\.33\.7/],
  ])('is found to hold %s', (_case, shoots, difference) => {
    expect(findShootDifferences([declared], shoots)).toEqual([expect.stringMatching(difference)]);
  });

  it('is found to have created a Shoot twice even if the first is gone, or one without a declaration', () => {
    const life = { name: 'c1234567', uid: 'u1' };
    const names = new Set(['c1234567']);

    expect(findDoubleCreations([life], names)).toEqual([]);
    expect(findDoubleCreations([life, { ...life, uid: 'u2' }], names)).toEqual(['Shoot c1234567 was made 2 times']);
    expect(findDoubleCreations([life], new Set())).toEqual(['Shoot c1234567 was made for no cluster']);
  });
});
