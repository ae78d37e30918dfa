import { describe } from '@jest/globals';
import { describeConsole } from '../../support/console/start-console.js';
import { testAccess } from './access.js';
import { testClusters } from './clusters.js';
import { testDns } from './dns.js';
import { testFrame } from './frame.js';
import { testRoles } from './roles.js';
import { BILLING_SECRET, testTeam } from './team.js';

/* Each page once, on one installation. What goes deeper is in `long/system/console`. */
describeConsole(
  'shows',
  (running) => {
    describe('every page', () => testFrame(running));
    describe('record sets and zone files', () => testDns(running));
    describe('tokens, demos and connections', () => testAccess(running));
    describe('clusters', () => testClusters(running));
    describe('the team', () => testTeam(running));
    describe('each role', () => testRoles(running));
  },
  async () => ({ BILLING_WEBHOOK_SECRETS: BILLING_SECRET }),
);
