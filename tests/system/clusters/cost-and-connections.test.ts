import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Cluster, Connection } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCommand } from '../../support/clients/run-command.js';
import {
  aCluster,
  aPool,
  change,
  codeOf,
  conditionOf,
  getCluster,
  getShoot,
  untilCluster,
  untilPhase,
} from '../../support/clusters/journey.js';
import {
  type ClusterSystem,
  type ClusterTeam,
  startClusterSystem,
} from '../../support/clusters/start-cluster-system.js';

const adminProgram = fileURLToPath(new URL('../../../apps/admin/dist/main.js', import.meta.url));
const keyNamed = (name: string) => `${name}:${randomBytes(32).toString('base64')}`;
const [oldKey, newKey] = [keyNamed('old'), keyNamed('new')];

let system: ClusterSystem;
let team: ClusterTeam;

beforeAll(async () => {
  const env = { SECRET_KEYS: `${oldKey},${newKey}` };
  system = await startClusterSystem({ apiEnv: env, reconcilerEnv: env });
  team = system.teams[0] as ClusterTeam;
});
afterAll(async () => {
  await system?.stop();
});

const tokenAtProvider = async (options: object = {}): Promise<string> => {
  const token = randomBytes(32).toString('hex');
  await system.cloud.admin('POST', '/project-tokens', { token, ...options });
  return token;
};
const connect = (ref: string, token: string) =>
  team.admin.insist({ method: 'PUT', path: `/connections/${ref}/`, body: { spec: { provider: 'hcloud', token } } });
const statusOf = async (ref: string): Promise<Connection['status']> =>
  (await team.member.insist({ method: 'GET', path: `/connections/${ref}/` })).json.status;
/** Acts as if a day had passed. */
const verifyToday = (ref: string) =>
  system.pool.query('UPDATE connection SET verify_at = now() WHERE team_id = $1 AND ref = $2', [team.id, ref]);
const isConnected = (status: string, reason: string) => (cluster: Cluster) => {
  const condition = conditionOf(cluster, 'ConnectionReady');
  return condition?.status === status && condition.reason === reason;
};
const twoPools = () => ({
  nodePools: [aPool(), aPool({ name: 'thrifty', machineType: 'cpx21', minimum: 0, maximum: 1 })],
});

describe('prices', () => {
  it('appear soon after the connection, show what a cluster or a change costs, and decide which pool grows first', async () => {
    await waitFor('the prices', async () => (await statusOf('main')).project?.currency === 'EUR');
    expect(await statusOf('main')).toMatchObject({
      phase: 'Ready',
      project: { reachable: true, readOnly: false, currency: 'EUR' },
    });

    await change(team.member, 'PUT', '/clusters/web/', aCluster(system, twoPools()));

    const { cost } = (await getCluster(team.member, 'web')).status;
    // cx22: 0.006 and 3.79, cpx21: 0.0113 and 7.05, an address 0.0008 and 0.5
    expect(cost).toMatchObject({
      currency: 'EUR',
      hourly: { minimum: '0.0189', maximum: '0.0257' },
      monthly: { minimum: '11.84', maximum: '16.13' },
      items: [{ name: 'general' }, { name: 'thrifty', minimum: 1, maximum: 1 }],
      pricedAt: expect.any(String),
    });

    const before = await untilCluster(team.member, 'web', 'at rest', ({ status }) =>
      status.conditions.every((condition) => condition.status === 'True'),
    );

    const { json } = await team.member.insist({
      method: 'PUT',
      path: '/clusters/web/node-pools/general/?dryRun=true',
      body: { spec: aPool({ maximum: 4 }) },
    });

    expect(json.costDifference).toEqual({
      hourly: { minimum: '0', maximum: '0.0136' },
      monthly: { minimum: '0', maximum: '8.58' },
    });
    // The observed state of a cluster changes by itself.
    const { metadata, spec } = await getCluster(team.member, 'web');
    expect([metadata.generation, spec]).toEqual([before.metadata.generation, before.spec]);

    const { workers } = (await getShoot(system, before)).spec.provider;
    expect(workers.map(({ priority }) => priority)).toEqual([1, 0]);
  });
});

describe('a token', () => {
  it('that may only read is refused with the reason, and so are clusters that use it', async () => {
    const { json } = await connect('reader', await tokenAtProvider({ readOnly: true }));

    expect(json.status).toMatchObject({
      phase: 'Rejected',
      verifiedAt: null,
      message: expect.stringContaining('is read-only'),
      project: { reachable: true, readOnly: true, currency: null },
    });
    const refused = await team.member.insist({
      method: 'PUT',
      path: '/clusters/reader/',
      body: aCluster(system, { connectionRef: 'reader' }),
    });
    expect(codeOf(refused)).toBe('connection_rejected');
  });

  it('that the provider no longer accepts is reported on the cluster, which recovers when it is replaced', async () => {
    const token = await tokenAtProvider();
    await connect('spare', token);
    await change(team.member, 'PUT', '/clusters/spare/', aCluster(system, { connectionRef: 'spare' }));
    const before = await untilPhase(team.member, 'spare', 'Ready');

    await system.garden.rejectProviderToken(token);
    await verifyToday('spare');
    await untilCluster(team.member, 'spare', 'cut off', isConnected('False', 'ProviderTokenRejected'));
    expect(await statusOf('spare')).toMatchObject({ phase: 'Rejected', project: { reachable: false } });

    await connect('spare', await tokenAtProvider({ sameProjectAs: token }));
    const after = await untilCluster(
      team.member,
      'spare',
      'connected',
      (cluster) => isConnected('True', 'Verified')(cluster) && cluster.status.phase === 'Ready',
    );
    expect(after.metadata.generation).toBe(before.metadata.generation);
  });

  it('leaves no test resources in the project', async () => {
    const answer = await fetch(`${system.cloud.apiUrl}/placement_groups`, {
      headers: { authorization: `Bearer ${team.providerToken}` },
    });

    expect(await answer.json()).toMatchObject({ placement_groups: [] });
    expect((await system.cloud.calls())['POST /v1/placement_groups']).toBeGreaterThan(0);
  });

  it('is sealed again while the services run, and they continue to use it', async () => {
    const before = await statusOf('main');

    const { code, stdout } = await runCommand([process.execPath, adminProgram, 'secrets', 'rotate'], {
      env: { DATABASE_URL: system.databaseUrl, SECRET_KEYS: `${newKey},${oldKey}` },
    });

    expect([code, stdout]).toEqual([0, expect.stringContaining('No secret is encrypted with old any more.')]);
    await verifyToday('main');
    await waitFor('the next verification', async () => (await statusOf('main')).verifiedAt !== before.verifiedAt);
    expect((await connect('main', team.providerToken)).json.status).toMatchObject({ phase: 'Ready' });
    const { rows } = await system.pool.query(
      'SELECT DISTINCT token_key_id, token_version FROM connection WHERE ref = $1',
      ['main'],
    );
    expect(rows).toEqual([{ token_key_id: 'new', token_version: 1 }]);
  });
});
