import { type ClusterSpec, defaultNetwork, type NodePoolSpec } from '@corral/contracts';
import type { PoolWish, Surroundings, Wish } from './cluster-steps.js';

/** What the only client of a cluster knows about it from the answers it got. */
export type Belief =
  | { readonly kind: 'absent' }
  | { readonly kind: 'present'; readonly spec: ClusterSpec }
  /** The deletion of the cluster was accepted. */
  | { readonly kind: 'leaving' };

export interface Answer {
  readonly status: number;
  /** From 2 on, an earlier copy of the request may have been accepted without an answer. */
  readonly tries: number;
  /** The code of a problem. */
  readonly code: string | undefined;
}

/** `problem`: the answer contradicts the earlier answers. */
export type Learned = { readonly belief: Belief; readonly problem?: string };

const absent: Belief = { kind: 'absent' };
const leaving: Belief = { kind: 'leaving' };

/** The client waits for each answer before its next request, so each answer must follow from the earlier ones. */
export function learn(before: Belief, wish: Wish, answer: Answer, surroundings: Surroundings): Learned {
  const isAccepted = answer.status < 300;
  const isResent = answer.tries > 1;
  const contradiction = (why: string): Learned => ({
    belief: before,
    problem: `${surroundings.name} was ${before.kind}, ${wish.kind} was answered ${answer.status}: ${why}`,
  });
  const isGone = answer.status === 404;

  if (wish.kind === 'declare' && before.kind !== 'present') {
    if (answer.status === 200 && !isResent) return contradiction('nothing was there to be unchanged');
    return { belief: isAccepted ? { kind: 'present', spec: declared(null, wish, surroundings) } : before };
  }
  switch (before.kind) {
    case 'absent':
      return isAccepted ? contradiction('there was none') : { belief: absent };
    case 'leaving':
      // The answer for a missing pool says nothing about the cluster.
      if (isGone) return { belief: wish.kind === 'removePool' ? leaving : absent };
      return isAccepted && wish.kind !== 'remove' ? contradiction('it was on its way out') : { belief: leaving };
    case 'present':
      return learnOfPresent(before.spec, wish, answer, surroundings) ?? contradiction('it was there');
  }
}

/** @returns null when the answer denies that the cluster exists */
function learnOfPresent(spec: ClusterSpec, wish: Wish, answer: Answer, surroundings: Surroundings): Learned | null {
  const isAccepted = answer.status < 300;
  const isGone = answer.status === 404;
  const isResent = answer.tries > 1;
  const present = (changed: ClusterSpec): Learned => ({ belief: { kind: 'present', spec: changed } });
  const pools = spec.nodePools;
  switch (wish.kind) {
    case 'remove':
      if (isGone) return isResent ? { belief: absent } : null;
      if (answer.status === 204) return { belief: absent };
      return isAccepted || answer.code === 'cluster_deleting' ? { belief: leaving } : present(spec);
    case 'removePool': {
      const hasPool = pools.some(({ name }) => name === wish.name);
      if (isGone && hasPool && !isResent) return null;
      const isRemoved = isAccepted || isGone;
      return present(isRemoved ? { ...spec, nodePools: pools.filter(({ name }) => name !== wish.name) } : spec);
    }
    case 'putPool':
      if (isGone) return null;
      return present(isAccepted ? { ...spec, nodePools: withPool(pools, fullPool(wish.pool)) } : spec);
    case 'declare':
      if (isGone) return null;
      return present(isAccepted ? declared(spec, wish, surroundings) : spec);
    case 'hibernate':
    case 'resume':
      if (isGone) return null;
      return present(isAccepted ? { ...spec, hibernated: wish.kind === 'hibernate' } : spec);
    case 'retry':
    case 'issueKubeconfig':
      return isGone ? null : present(spec);
  }
}

function declared(
  before: ClusterSpec | null,
  { spec, pools }: Extract<Wish, { kind: 'declare' }>,
  { connectionRef, region }: Surroundings,
): ClusterSpec {
  return {
    connectionRef,
    region,
    ...spec,
    hibernated: before?.hibernated ?? false,
    deletionProtection: before?.deletionProtection ?? false,
    network: { ...defaultNetwork },
    nodePools: pools.map(fullPool),
  };
}

const fullPool = (pool: PoolWish): NodePoolSpec => ({ source: 'managed', image: {}, publicIP: true, ...pool });

function withPool(pools: readonly NodePoolSpec[], pool: NodePoolSpec): NodePoolSpec[] {
  const isNew = pools.every(({ name }) => name !== pool.name);
  return isNew ? [...pools, pool] : pools.map((each) => (each.name === pool.name ? pool : each));
}
