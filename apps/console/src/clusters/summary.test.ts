import type { CatalogueBody, Cluster } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { upgradeOf, waitingPoolsOf } from './summary.js';

/** The members that matter here. */
const clusterOf = (phase: string, source: string, nodes: object | null, hibernated = false) =>
  ({
    spec: { hibernated, nodePools: [{ name: 'metal', source, maximum: 2 }] },
    status: { phase, nodePools: [{ name: 'metal', nodes }] },
  }) as unknown as Cluster;

describe('a pool waits for machines', () => {
  const none = { ready: 0, total: 0 };
  it.each<[string, Cluster, number]>([
    ['that have not joined', clusterOf('Ready', 'dedicated', none), 2],
    ['of which one has joined', clusterOf('Ready', 'onprem', { ready: 1, total: 1 }), 1],
    ['but not when all have joined', clusterOf('Ready', 'pooled', { ready: 2, total: 2 }), 0],
    ['but not when its nodes are created', clusterOf('Ready', 'managed', none), 0],
    ['but not when it is not known', clusterOf('Ready', 'dedicated', null), 0],
    ['but not in a draft', clusterOf('Draft', 'dedicated', none), 0],
    ['but not while hibernated', clusterOf('Hibernated', 'dedicated', none, true), 0],
    ['but not while it is deleted', clusterOf('Deleting', 'dedicated', none), 0],
  ])('%s', (_what, cluster, missing) => {
    expect(waitingPoolsOf(cluster).reduce((sum, pool) => sum + pool.missing, 0)).toBe(missing);
  });
});

describe('an upgrade', () => {
  const version = (full: string, newestOf: string | null, classification = 'supported') => ({
    version: full,
    newestOf,
    classification,
    supportedUntil: null,
  });
  const offered: CatalogueBody['kubernetesVersions'] = [
    version('1.37.0', '1.37', 'preview'),
    version('1.36.1', '1.36'),
    version('1.35.4', '1.35'),
    version('1.35.2', null),
    version('1.34.3', '1.34'),
  ];
  it.each([
    ['1.34.3', { version: '1.35', isMinor: true }],
    ['1.35.2', { version: '1.36', isMinor: true }],
    ['1.36.0', { version: '1.36', isMinor: false }],
    ['1.36.1', null],
    ['1.33.1', { version: '1.34', isMinor: true }],
    ['1.30.1', null],
  ])('of %s is the next minor version, or else a patch: %j', (present, upgrade) => {
    expect(upgradeOf(present, offered)).toEqual(upgrade);
  });
});
