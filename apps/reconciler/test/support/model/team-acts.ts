import type { Desired, DesiredPool } from '../../../src/clusters/model.js';

type Declared = 'hibernated' | 'maximum' | 'plan' | 'version' | 'pool' | 'adopted';

export type TeamAct =
  | { readonly does: 'declare'; readonly what: Declared }
  | { readonly does: 'retry' }
  | { readonly does: 'delete' }
  | { readonly does: 'newToken'; readonly isGood: boolean };

/** What a declaration of this kind changes. */
export function declared(row: Desired, what: Declared): Partial<Desired> {
  const [first, ...others] = row.pools;
  if (first === undefined) throw new Error('no pool');
  switch (what) {
    case 'hibernated':
      return { spec: { ...row.spec, hibernated: !row.spec.hibernated } };
    case 'maximum':
      return { pools: [{ ...first, maximum: first.maximum + 1 }, ...others] };
    case 'plan':
      return { spec: { ...row.spec, plan: row.spec.plan === 'payg' ? 'annual' : 'payg' } };
    case 'version':
      return { spec: { ...row.spec, kubernetesVersion: row.spec.kubernetesVersion === '1.34' ? '1.35' : '1.36' } };
    case 'pool':
      return { pools: toggled(row.pools, { ...first, name: 'more', workerName: 'pmore1' }) };
    case 'adopted':
      return { pools: toggled(row.pools, { ...first, name: 'own', workerName: 'pown01', source: 'pooled' }) };
  }
}

/** Removes the pool if present, otherwise adds it. */
function toggled(pools: readonly DesiredPool[], pool: DesiredPool): DesiredPool[] {
  const others = pools.filter(({ name }) => name !== pool.name);
  return others.length < pools.length ? others : [...pools, pool];
}
