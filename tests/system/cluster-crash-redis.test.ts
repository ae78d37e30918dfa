import { describeNeeding, missingRedisServer } from '@corral/testing';
import { describe } from '@jest/globals';
import { describeCrashes } from '../support/clusters/describe-crashes.js';

describeNeeding(describe, missingRedisServer(), 'clusters whose queue is on Redis', () => {
  describeCrashes({ title: 'a Redis that is flushed and killed', kills: 50, disturbed: 'Redis' });
});
