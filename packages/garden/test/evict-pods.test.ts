import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { podToEvict } from '../src/nodes/evict-pods.js';
import { aShootName, aStatus } from './a-garden.js';
import { listing, type RunningShoot, type ShootAnswer, saying, startShoot } from './a-shoot.js';

let shoot: RunningShoot;

beforeEach(async () => {
  shoot = await startShoot();
});

afterEach(async () => {
  await shoot.close();
});

function aPod(name: string, overrides: { metadata?: object; status?: object } = {}) {
  return {
    metadata: { namespace: 'shop', name, uid: `uid-${name}`, ...overrides.metadata },
    spec: { nodeName: 'web-1' },
    status: { phase: 'Running', ...overrides.status },
  };
}

const ownedBy = (kind: string, controller = true) => ({
  metadata: { ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'a', controller }] },
});

const evict = () => shoot.client.nodes.evictPods(aShootName, 'web-1');
const evictionOf = (name: string) => `POST /api/v1/namespaces/shop/pods/${name}/eviction`;
const began = saying(201, { kind: 'Status', status: 'Success' });
const evictions = () => shoot.requests.filter(({ method }) => method === 'POST');

function hold(pods: Record<string, ShootAnswer>): void {
  shoot.routes['GET /api/v1/pods'] = listing(Object.keys(pods).map((name) => aPod(name)));
  for (const [name, answer] of Object.entries(pods)) shoot.routes[evictionOf(name)] = answer;
}

describe('a pod', () => {
  it.each([
    ['of a ReplicaSet', ownedBy('ReplicaSet')],
    ['of a Job', ownedBy('Job')],
    ['without an owner', {}],
    ['that a DaemonSet only refers to', ownedBy('DaemonSet', false)],
    ['that waits for its containers', { status: { phase: 'Pending' } }],
    ['of which nothing is known', { status: { phase: 'Unknown' } }],
  ])('%s is evicted', (_what, overrides) => {
    expect(podToEvict(aPod('a', overrides))).toMatchObject({ name: 'a', uid: 'uid-a' });
  });

  it.each([
    ['of a DaemonSet', ownedBy('DaemonSet')],
    ['that mirrors one of the kubelet', { metadata: { annotations: { 'kubernetes.io/config.mirror': '' } } }],
    ['that has succeeded', { status: { phase: 'Succeeded' } }],
    ['that has failed', { status: { phase: 'Failed' } }],
  ])('%s is not evicted', (_what, overrides) => {
    expect(podToEvict(aPod('a', overrides))).toBeNull();
  });
});

describe('draining a node', () => {
  it('evicts exactly the existing pods, by uid', async () => {
    hold({ a: began });

    expect(await evict()).toBe(1);

    expect(shoot.requests[0]?.query.get('fieldSelector')).toBe('spec.nodeName=web-1');
    expect(evictions().map(({ body }) => body)).toEqual([
      {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { namespace: 'shop', name: 'a' },
        deleteOptions: { preconditions: { uid: 'uid-a' } },
      },
    ]);
  });

  it('is complete when there are none', async () => {
    shoot.routes['GET /api/v1/pods'] = saying(200, { metadata: {}, items: null });

    expect(await evict()).toBe(0);
  });

  it.each(['', 'a,spec.nodeName!=b'])('is refused for the name %j, which would select other nodes', async (name) => {
    await expect(shoot.client.nodes.evictPods(aShootName, name)).rejects.toThrow(TypeError);
    expect(shoot.requests).toEqual([]);
  });

  it('reads every page of pods', async () => {
    hold(Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`pod-${n}`, began])));

    expect(await evict()).toBe(600);
    expect(new Set(evictions().map(({ path }) => path)).size).toBe(600);
    expect(shoot.issued).toHaveLength(1);
  });

  it('waits for pods that are terminating, and does not evict them again', async () => {
    const metadata = { deletionTimestamp: '2026-11-22T10:00:00Z' };
    shoot.routes['GET /api/v1/pods'] = listing([aPod('a', { metadata })]);

    expect(await evict()).toBe(1);
    expect(evictions()).toEqual([]);
  });

  const budget = aStatus(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.");
  const another = aStatus(409, 'Conflict', 'the UID in the precondition (uid-a) does not match the UID in record (b)');
  const twoBudgets = aStatus(500, 'InternalServerError', 'This pod has more than one PodDisruptionBudget');

  it.each([
    ['is gone by now', 404, aStatus(404, 'NotFound', 'pods "a" not found', { name: 'a', kind: 'pods' }), 0],
    ['is another one by now', 409, another, 0],
    ['is kept by a budget', 429, budget, 1],
    ['has two budgets', 500, twoBudgets, 1],
    ['was just changed', 409, aStatus(409, 'Conflict', 'the object has been modified'), 1],
    ['is kept by a webhook', 403, aStatus(403, 'Forbidden', 'admission webhook "a" denied the request'), 1],
  ])('continues with the others when a pod %s', async (_what, status, body, stays) => {
    hold({ a: saying(status, body), b: began });

    expect(await evict()).toBe(1 + stays);
    expect(evictions()).toHaveLength(2);
  });

  it.each([
    ['the list is none', 'GET /api/v1/pods', saying(200, { metadata: {} }), 'unusable'],
    ['the list cannot be had', 'GET /api/v1/pods', saying(429, budget), 'throttled'],
    ['an answer is lost', evictionOf('a'), (_request: unknown, response) => response.destroy(), 'uncertain'],
  ] as [string, string, ShootAnswer, string][])('fails when %s', async (_what, route, answer, kind) => {
    hold({ a: began });
    shoot.routes[route] = answer;

    await expect(evict()).rejects.toMatchObject({ kind });
  });
});
