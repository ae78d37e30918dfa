import { isRedisInstalled } from '@corral/testing';
import { describeCrashes } from '../support/clusters/describe-crashes.js';
import { describeNeeding } from '../support/needing.js';

describeNeeding(isRedisInstalled() ? null : 'redis-server is not installed', 'clusters whose queue is on Redis', () => {
  describeCrashes({ title: 'a Redis that is flushed and killed', kills: 50, disturbed: 'Redis' });
});
