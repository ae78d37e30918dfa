import TestSequencer from '@jest/test-sequencer';

/**
 * Files that take minutes, the longest first. Jest remembers how long each took, but a fresh clone has nothing to
 * remember, and whatever long file it begins last is waited for alone.
 */
const longest = [
  'cluster-crash-clocks',
  'dns-soak',
  'cluster-crash-postgres',
  'cluster-crash-redis',
  'pools-on-servers',
  'images',
  'dns-crash',
  'cluster-shutdown',
  'dns-replicas-faults',
];

const rankOf = ({ path }) => {
  const rank = longest.findIndex((name) => path.endsWith(`/${name}.test.ts`));
  return rank === -1 ? longest.length : rank;
};

export default class LongestFirst extends TestSequencer {
  async sort(tests) {
    const sorted = await super.sort(tests);
    return [...sorted].sort((one, other) => rankOf(one) - rankOf(other));
  }
}
