import { isRedisInstalled } from '@corral/testing';
import { describeCrashes } from '../support/clusters/describe-crashes.js';

const HOUR_MS = 3_600_000;

describeCrashes({
  title: 'clocks that are hours apart',
  clockShiftsMs: [-3 * HOUR_MS, 0, 5 * HOUR_MS],
  // Without Redis, these are the kills of its test as well.
  kills: isRedisInstalled() ? 100 : 150,
});
