import type { Served } from '@corral/http-api';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aClusterSpec } from '../support/a-cluster.js';
import type { TestUser } from '../support/checked-client.js';
import { addConnection } from '../support/clusters.js';
import { listen } from '../support/listen.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

/** Limit of requests in flight. Bursts may exceed it eightfold, for ten times as many requests. */
const MAX = 2;
const MORE_THAN_A_BURST = 20;

let t: TestClusterApi;
let served: Served;
let hooli: TestTeam;
beforeAll(async () => {
  t = await startClusterApi({ config: { requestsInFlightMax: MAX } });
  served = await listen(t.app);
  hooli = await t.createTeam('hooli');
  for (const team of [t.acme, hooli]) await addConnection(t, team);
});
afterAll(async () => {
  await served.close();
  await t.close();
});

const send = (user: TestUser, path: string, init: RequestInit = {}) =>
  fetch(`${served.url}${path}`, {
    ...init,
    headers: { Cookie: user.cookie, 'Content-Type': 'application/json' },
  });
const list = (team: TestTeam) => send(team.member, team.path('/clusters/'));
const declare = (team: TestTeam, name: string) =>
  send(team.member, team.path(`/clusters/${name}/`), { method: 'PUT', body: JSON.stringify({ spec: aClusterSpec() }) });

const countWaiting = async () =>
  Number(/^corral_changes_waiting_count\{[^}]*\} (\d+)$/m.exec(await t.deps.metrics.registry.metrics())?.[1]);

/** Holds the lock on a team's changes, as another process would. @returns a function that releases it */
async function hold(team: TestTeam): Promise<() => Promise<void>> {
  const holder = await t.pool.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT FROM team_change_lock WHERE team_id = $1 FOR UPDATE', [team.id]);
  return async () => {
    await holder.query('COMMIT');
    holder.release();
  };
}

describe('while too many requests are in flight', () => {
  it('the busiest team gets 503 with Retry-After, other teams are served, and waiting changes do not count', async () => {
    for (const team of [t.acme, t.globex, hooli]) expect((await list(team)).status).toBe(200);
    const releases = [await hold(t.acme), await hold(hooli)];
    const changes: Promise<Response>[] = [];
    // One change per team is running and counts as in flight. The others wait.
    for (let waiting = 0; waiting < MORE_THAN_A_BURST; waiting += 1) {
      changes.push(declare(t.acme, `web-${waiting}`));
      await waitFor('the change to have come', async () => (await countWaiting()) === waiting);
    }
    changes.push(declare(hooli, 'web'));
    const lists = await Promise.all(Array.from({ length: 2 * MORE_THAN_A_BURST }, () => list(t.acme)));
    const refused = lists.find(({ status }) => status === 503);

    const other = await list(t.globex);
    for (const each of releases) await each();
    const done = await Promise.all(changes);

    expect(other.status).toBe(200);
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(refused?.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    const problem = (await refused?.json()) as Record<string, string>;
    expect(problem).toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(problem.instance).toBe(`urn:uuid:${refused?.headers.get('x-correlation-id')}`);
    expect(problem.detail).toContain('Retry-After');
    // Later changes exceed the team's quota of clusters.
    for (const { status } of done) expect([202, 422]).toContain(status);
    expect((await list(t.acme)).status).toBe(200);
  });
});
