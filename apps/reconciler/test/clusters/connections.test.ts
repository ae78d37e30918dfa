import type { ConnectionId } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestCluster } from '../support/cluster-rows.js';
import {
  type Clusters,
  OTHER_TOKEN,
  PROJECT_TOKEN,
  type Reconciler,
  startClusters,
} from '../support/start-clusters.js';
import { untilRow } from '../support/until.js';

const READER = 'r'.repeat(64);

let on: Clusters;
let reconciler: Reconciler;
beforeAll(async () => {
  on = await startClusters({ readOnlyTokens: [READER] });
  reconciler = await on.start({ settings: { verifyIntervalMs: 200, sweepIntervalMs: 200 } });
});
afterEach(() => on.cloud.admin.addProjectToken(PROJECT_TOKEN));
afterAll(() => on.close());

/** As the API does it when the provider gave no answer in time. */
async function replaceToken(connectionId: ConnectionId, token: string): Promise<void> {
  await on.seal(connectionId, token);
  await on.pool.query(
    `UPDATE connection SET token_version = token_version + 1, phase = 'Unverified', project = NULL, verify_at = now()
     WHERE id = $1`,
    [connectionId],
  );
}
const verifyNow = (connectionId: ConnectionId) =>
  on.pool.query('UPDATE connection SET verify_at = now() WHERE id = $1', [connectionId]);

async function aReadyCluster(): Promise<{ cluster: TestCluster; connectionId: ConnectionId }> {
  const { team, connectionId } = await on.addTeamWithConnection();
  await verifyNow(connectionId);
  const cluster = await on.declare(team, connectionId);
  await reconciler.wake(cluster.id);
  await until(cluster, 'True', 'Verified');
  await untilReady(cluster);
  return { cluster, connectionId };
}

const untilReady = ({ id }: TestCluster) =>
  untilRow(on, id, (row) => row.phase === 'Ready' && row.observed_generation === row.generation);

const until = (cluster: TestCluster, status: string, reason: string) =>
  waitFor(`ConnectionReady to be ${status}, ${reason}`, async () => {
    const { conditions } = await on.row(cluster.id);
    return conditions.some(
      (each) => each.type === 'ConnectionReady' && each.status === status && each.reason === reason,
    );
  });
const connection = async (id: string) => (await on.pool.query('SELECT * FROM connection WHERE id = $1', [id])).rows[0];
const probesOf = async (token: string) => {
  const answer = await fetch(`${on.cloud.apiUrl}/placement_groups`, { headers: { Authorization: `Bearer ${token}` } });
  return ((await answer.json()) as { placement_groups: unknown[] }).placement_groups;
};

describe('a cluster', () => {
  it('reports a read-only token, and recovers when the token is replaced', async () => {
    const { cluster, connectionId } = await aReadyCluster();

    await replaceToken(connectionId, READER);
    await until(cluster, 'False', 'ProviderTokenReadOnly');
    expect(await connection(connectionId)).toMatchObject({
      phase: 'Rejected',
      message: expect.stringContaining('is read-only'),
      project: { reachable: true, readOnly: true },
    });

    await replaceToken(connectionId, OTHER_TOKEN);
    await until(cluster, 'True', 'Verified');
    await untilReady(cluster);
  });

  it('reports a rejected token after its verification, and recovers when the token is replaced', async () => {
    const { cluster, connectionId } = await aReadyCluster();

    on.cloud.admin.rejectToken(PROJECT_TOKEN);
    await verifyNow(connectionId);
    await until(cluster, 'False', 'ProviderTokenRejected');

    await replaceToken(connectionId, OTHER_TOKEN);
    await until(cluster, 'True', 'Verified');
  });

  it('gets prices soon after its connection is ready, without leaving a probe in the project', async () => {
    const { connectionId } = await aReadyCluster();

    await waitFor('the prices', async () => {
      const { rows } = await on.pool.query('SELECT * FROM price_list WHERE connection_id = $1', [connectionId]);
      return rows[0]?.currency === 'EUR' && rows[0].prices.serverTypes.cpx31.fsn1.hourly === '0.0210000000';
    });

    expect(await probesOf(PROJECT_TOKEN)).toEqual([]);
  });
});
