import { createHash } from 'node:crypto';
import TestSequencer from '@jest/test-sequencer';

/**
 * Files that take longest, longest first. Jest remembers how long each took, but a fresh clone has nothing to remember, and
 * whatever long file it begins last is waited for alone.
 */
const longest = [
  'tests/system/console/',
  'tests/system/dns/dns-crash',
  'tests/system/clusters/cluster-crash',
  'tests/system/',
  'apps/reconciler/test/clusters/on-a-garden',
];

const rankOf = ({ path }) => {
  const rank = longest.findIndex((name) => path.includes(`/${name}`));
  return rank === -1 ? longest.length : rank;
};

/** The longest first, or in a random order that CORRAL_TEST_ORDER_SEED repeats. */
export default class Sequencer extends TestSequencer {
  async sort(tests) {
    const seed = process.env.CORRAL_TEST_ORDER_SEED;
    if (seed !== undefined) return inOrderOf(tests, ({ path }) => hashOf(`${seed} ${path}`));
    const sorted = await super.sort(tests);
    return [...sorted].sort((one, other) => rankOf(one) - rankOf(other));
  }
}

const hashOf = (text) => createHash('sha256').update(text).digest('hex');

function inOrderOf(tests, keyOf) {
  const keyed = [...tests].map((test) => [keyOf(test), test]);
  return keyed.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, test]) => test);
}
