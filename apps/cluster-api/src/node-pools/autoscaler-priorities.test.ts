import { aPriceList } from '@corral/cluster-data/testing';
import type { NodePoolSpec } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aClusterSpec, aPool } from '../../test/support/a-cluster.js';
import { autoscalerPriorities } from './autoscaler-priorities.js';

const prioritiesOf = (
  pools: readonly Partial<NodePoolSpec>[],
  prices = aPriceList() as Parameters<typeof autoscalerPriorities>[1],
) => {
  const nodePools = pools.map((pool, index) => aPool({ name: `p${index}`, ...pool }));
  return [...autoscalerPriorities(aClusterSpec({ nodePools }), prices).values()];
};
const machine = (machineType: string) => ({ machineType });

describe('the priority of a pool', () => {
  it.each<[string, Partial<NodePoolSpec>[], number[]]>([
    ['is 0 for a single managed pool', [machine('cpx31')], [0]],
    ['rises as the machines get cheaper', [machine('cpx51'), machine('cpx31'), machine('cap')], [0, 1, 2]],
    ['is equal for equal prices', [machine('cap'), machine('nocap'), machine('cpx51')], [1, 1, 0]],
    ['is the lowest for an unknown price', [machine('ccx13'), machine('cpx31'), machine('cpx51')], [0, 1, 0]],
    ['is highest on adopted servers', [machine('cpx31'), { source: 'onprem' }, machine('cpx51')], [1, 100, 0]],
  ])('%s', (_what, pools, priorities) => {
    expect(prioritiesOf(pools)).toEqual(priorities);
  });

  it('is 0 for all managed pools without a price list', () => {
    expect(prioritiesOf([machine('cpx31'), machine('cpx51'), { source: 'dedicated' }], null)).toEqual([0, 0, 100]);
  });

  it('stays below that of adopted servers and never prefers a higher price', () => {
    const hourly = fc.array(fc.nat(10_000), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(hourly, (prices) => {
        const named = prices.map((each, index) => [`m${index}`, { hel1: { hourly: String(each), monthly: '9999' } }]);
        const list = aPriceList({ serverTypes: Object.fromEntries(named) });
        const priorities = prioritiesOf(
          [...prices.keys()].map((index) => machine(`m${index}`)),
          list,
        );
        for (const [one, priority] of priorities.entries()) {
          expect(priority).toBeLessThan(100);
          for (const [other, otherPriority] of priorities.entries()) {
            if ((prices[one] as number) > (prices[other] as number))
              expect(priority).toBeLessThanOrEqual(otherPriority);
          }
        }
      }),
      { numRuns: 20 },
    );
  });
});
