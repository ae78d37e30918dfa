import { describe, expect, it } from '@jest/globals';
import { type Effect, shortEffect } from './effect-text.js';
import { type PlannedChange, removalsIn } from './planned-change.js';

type Nodes = readonly [before: number | null, after: number | null];

const pool = (kind: string, [before, after]: Nodes, name = 'general') => {
  const range = (maximum: number | null) => (maximum === null ? null : { minimum: 0, maximum });
  return { target: 'nodePool', pool: name, kind, nodes: { before: range(before), after: range(after) } };
};
const cluster = (kind: string) => ({ target: 'cluster', kind });
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

describe('what a change takes away', () => {
  it.each<[what: string, effect: object, removals: string[]]>([
    ['a removed pool', pool('removed', [3, null]), ['node pool general removed']],
    ['a removed pool without nodes', pool('removed', [0, null]), []],
    ['replaced nodes', pool('replaced', [3, 3]), ['node pool general replaced']],
    ['nodes of a cluster that hibernates', pool('scaled', [3, 0]), ['node pool general scaled']],
    ['fewer adopted servers', pool('scaled', [3, 2], 'own'), ['node pool own scaled']],
    ['more adopted servers', pool('scaled', [2, 3], 'own'), []],
    // The autoscaler adds and removes such nodes all the time.
    ['a smaller range of managed nodes', pool('scaled', [6, 3]), []],
    ['an added pool', pool('added', [null, 3]), []],
    ['a kept pool', pool('kept', [3, 3]), []],
    ['an updated pool', pool('updated', [3, 3]), []],
    ['a deleted cluster', cluster('deleted'), ['cluster deleted']],
    // It may replace any node.
    ['changes of others that are set back', cluster('repaired'), ['cluster repaired']],
    ['a patch version', cluster('upgraded'), []],
  ])('%s', (_what, effect, removals) => {
    expect(removalsIn(planned(effect)).map(shortEffect)).toEqual(removals);
  });
});
