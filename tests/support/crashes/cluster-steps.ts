import type { ClusterSpec, NodePoolSpec } from '@corral/contracts';
import fc from 'fast-check';
import type { TeamCall } from '../clusters/client.js';
import type { FaultRule } from '../system/local-cloud.js';
import { htmlAnswer } from './draw.js';

/** One request of a client about one of its clusters. */
export type Wish =
  | { readonly kind: 'declare'; readonly spec: Omit<Declaration, 'nodePools'>; readonly pools: readonly PoolWish[] }
  | { readonly kind: 'putPool'; readonly pool: PoolWish }
  | { readonly kind: 'removePool'; readonly name: string }
  | { readonly kind: 'hibernate' | 'resume' | 'retry' | 'remove' | 'issueKubeconfig' };

export type PoolWish = Pick<NodePoolSpec, 'name' | 'machineType' | 'minimum' | 'maximum'>;
type Declaration = Pick<ClusterSpec, 'controlPlaneHA' | 'plan' | 'kubernetesVersion' | 'nodePools'>;

export interface Step {
  /** The index of one of the client's clusters. */
  readonly cluster: number;
  readonly wish: Wish;
  /** Reads an operation that it knows again, before it continues. */
  readonly looksBack: boolean;
  readonly thinkMs: number;
}

const poolNames = ['general', 'batch', 'a-pool-with-a-rather-long-name'] as const;

const poolArbitrary: fc.Arbitrary<PoolWish> = fc.record({
  name: fc.constantFrom(...poolNames),
  machineType: fc.constantFrom('cx22', 'cpx31'),
  minimum: fc.integer({ min: 0, max: 1 }),
  maximum: fc.integer({ min: 1, max: 3 }),
});

const wishArbitrary: fc.Arbitrary<Wish> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('declare' as const),
      spec: fc.record({
        controlPlaneHA: fc.constant(false),
        plan: fc.constantFrom('payg' as const, 'monthly' as const, 'annual' as const),
        // Downgrades are among them. They are refused and change nothing.
        kubernetesVersion: fc.constantFrom('1.33', '1.33', '1.34'),
      }),
      pools: fc.uniqueArray(poolArbitrary, { selector: ({ name }) => name, maxLength: poolNames.length }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('putPool' as const), pool: poolArbitrary }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('removePool' as const), name: fc.constantFrom(...poolNames) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom('hibernate', 'hibernate', 'resume', 'resume', 'retry', 'remove', 'issueKubeconfig'),
    }),
  },
);

export const stepArbitrary = (clusters: number): fc.Arbitrary<Step> =>
  fc.record({
    cluster: fc.nat(clusters - 1),
    wish: wishArbitrary,
    looksBack: fc.boolean(),
    thinkMs: fc.integer({ min: 10, max: 400 }),
  });

export interface Surroundings {
  readonly name: string;
  readonly connectionRef: string;
  readonly region: string;
}

export function callOf(wish: Wish, { name, connectionRef, region }: Surroundings): TeamCall {
  const path = `/clusters/${name}/`;
  switch (wish.kind) {
    case 'declare':
      return { method: 'PUT', path, body: { spec: { connectionRef, region, ...wish.spec, nodePools: wish.pools } } };
    case 'putPool':
      return { method: 'PUT', path: `${path}node-pools/${wish.pool.name}/`, body: { spec: wish.pool } };
    case 'removePool':
      return { method: 'DELETE', path: `${path}node-pools/${wish.name}/` };
    case 'remove':
      return { method: 'DELETE', path };
    case 'issueKubeconfig':
      return { method: 'POST', path: `${path}kubeconfig/`, body: {} };
    default:
      return { method: 'POST', path: `${path}${wish.kind}/` };
  }
}

/** A little longer than one call to the garden may take. */
const TOO_LONG_MS = 2_200;

const gardenFaults: fc.Arbitrary<FaultRule> = fc.record({
  match: fc
    .constantFrom(
      { method: 'APPLY', path: '/shoots/' },
      { method: 'APPLY', path: '/shoots/' },
      { method: 'APPLY' },
      { method: 'DELETE' },
      { method: 'PATCH' },
      { method: 'GET', path: '/shoots/' },
      { method: 'GET' },
      { method: 'WATCH' },
      {},
    )
    .map((match) => ({ api: 'garden', ...match })),
  times: fc.integer({ min: 1, max: 3 }),
  effect: fc.constantFrom<FaultRule['effect']>(
    { delayMs: 50 },
    { delayMs: 300 },
    { delayMs: TOO_LONG_MS },
    { status: 500, perform: true },
    { status: 500, perform: false },
    { status: 503, perform: false, ...htmlAnswer },
    { status: 504, perform: true, ...htmlAnswer },
    { status: 429, retryAfter: 1 },
    { reset: 'before' },
    { reset: 'after' },
    { reset: 'after' },
    { truncate: true },
    { hang: true },
  ),
});

/** The answers of the provider when tokens are verified, and when servers are listed. */
export const providerFaults: fc.Arbitrary<FaultRule> = fc.record({
  match: fc
    .constantFrom({}, { path: '/servers' }, { path: '/servers', method: 'PUT' }, { path: '/servers', method: 'POST' })
    .map((match) => ({ api: 'hcloud', ...match })),
  times: fc.constant(1),
  effect: fc.constantFrom<FaultRule['effect']>(
    { status: 500, perform: false },
    { status: 500, perform: true },
    { status: 429 },
    { delayMs: 300 },
    { reset: 'before' },
    { reset: 'after' },
    { reset: 'after' },
  ),
});

export const faultArbitrary = fc.oneof(
  { weight: 9, arbitrary: gardenFaults },
  { weight: 3, arbitrary: providerFaults },
);
