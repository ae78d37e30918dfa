import { describeNeeding } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { missingBrowser } from '../../support/console/browser.js';
import { type RunningConsole, startConsole } from '../../support/console/start-console.js';
import { testAccess } from './access.js';
import { testClusters } from './clusters.js';
import { testDns } from './dns.js';
import { testFrame } from './frame.js';
import { testRoles } from './roles.js';
import { BILLING_SECRET, testTeam } from './team.js';

const missing = await missingBrowser();

/* Each page once, on one installation. What goes deeper is in `long/system/console`. */
describeNeeding(describe, missing, 'the console', () => {
  let running: RunningConsole;

  beforeAll(async () => {
    running = await startConsole({ BILLING_WEBHOOK_SECRETS: BILLING_SECRET });
  });
  afterEach(() => running?.closePages());
  afterAll(() => running?.stop());

  describe('for every page', () => testFrame(() => running));
  describe('for record sets and zone files', () => testDns(() => running));
  describe('for tokens, demos and connections', () => testAccess(() => running));
  describe('for clusters', () => testClusters(() => running));
  describe('for the team', () => testTeam(() => running));
  describe('for each role', () => testRoles(() => running));

  it('breaks no policy and throws nothing', () => {
    expect(running.complaints()).toEqual([]);
  });
});
