import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { signIn } from '../../../support/clusters/client.js';
import { type ClusterSystem, startClusterSystem } from '../../../support/clusters/start-cluster-system.js';
import { DRAIN_DELAY_MS, failuresWhileRestarting, WRITE_EVERY } from '../../../support/system/rolling-restart.js';

let system: ClusterSystem;
beforeAll(async () => {
  system = await startClusterSystem({ apis: 2, apiEnv: { DRAIN_DELAY_MS } });
});
afterAll(() => system?.stop());

const json = (body: unknown) => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

it('the cluster API loses no request during a rolling restart, and no write', async () => {
  const cookie = await signIn(system.apis[0]?.base as string, 'member@acme.test');
  const clusters = '/api/v1/teams/acme/clusters';

  const failures = await failuresWhileRestarting(system.apis, (at, index, turn) => {
    if (turn % WRITE_EVERY !== 0) return fetch(`${at}${clusters}/`, { headers: { cookie } });
    const versions = ['1.33', '1.34'];
    const { headers, body } = json({
      spec: { ...system.surroundings, kubernetesVersion: versions[(turn / WRITE_EVERY) % versions.length] },
    });
    return fetch(`${at}${clusters}/c${index}/`, { method: 'PUT', headers: { ...headers, cookie }, body });
  });

  expect(failures).toEqual([]);
}, 600_000);
