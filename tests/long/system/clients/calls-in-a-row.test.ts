import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hcloudGo, missingOf, walk } from '../../../support/clients/client-programs.js';
import { type System, startSystem, type Team, ZONE } from '../../../support/system/start-system.js';
import { shortWaits } from '../../../support/system/system-parts.js';

const go = await hcloudGo();
/** The number for which the limits are documented. */
const CALLS = 300;
const LIMIT = 120;
/** Without Redis, each of the two gateways grants its half of the limit, once it knows of the other one. */
const PART = LIMIT / 2;

let system: System;
beforeAll(async () => {
  // It answers 429 soon, so that clients have to wait themselves.
  const limits = { LIMIT_PER_ADDRESS: '300', LIMIT_PER_TOKEN: String(LIMIT), LIMIT_PER_TEAM: '600', ...shortWaits };
  system = await startSystem({ gateways: 2, gatewayEnv: (index) => (index === 1 ? limits : {}) });
});
afterAll(() => system?.stop());

describeNeeding(describe, missingOf(go), 'hcloud-go', () => {
  // A default client retries until the bucket has a token again.
  it(`makes ${CALLS} calls in a row under the default limits without an error`, async () => {
    const env = { HCLOUD_ENDPOINT: system.url, HCLOUD_TOKEN: (system.teams[0] as Team).token };

    const steps = await walk(go, ['calls', ZONE, String(CALLS)], env, { timeoutMs: 480_000 });

    expect(steps.calls).toMatchObject({ count: CALLS });
    expect(steps.calls?.seconds).toBeGreaterThan(((CALLS - LIMIT) / PART) * 60 * 0.9); // the limit was reached
  }, 600_000);
});
