import { type IncomingMessage, request } from 'node:http';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addConnection, declare, endOperations } from '../support/clusters.js';
import { type Replica, startReplica } from '../support/events/start-replica.js';
import { startClusterApi, type TestClusterApi, type TestTeam } from '../support/start-cluster-api.js';

const PER_TEAM = 100;
let t: TestClusterApi;
let replica: Replica;
let names = 0;
beforeAll(async () => {
  // Fewer connections than waiting requests, so that one that held its connection would be noticed.
  t = await startClusterApi({
    connections: 4,
    config: { operationWaits: { perCaller: 101, perTeam: PER_TEAM, perProcess: 1_000 }, readConnections: 4 },
  });
  for (const team of [t.acme, t.globex]) await addConnection(t, team);
  await t.pool.query('UPDATE team SET clusters_max = 1000');
  replica = await startReplica(t);
});
afterAll(async () => {
  await replica.close();
  await t.close();
});

/** @returns the path of the open operation of a new cluster, and the cluster's name */
async function begin(team: TestTeam): Promise<{ readonly path: string; readonly name: string }> {
  names += 1;
  const name = `waits-${names}`;
  const { operation } = await declare(t, team, name);
  return { path: team.path(`/operations/${operation.id}/`), name };
}

interface Asked {
  readonly answer: Promise<{
    readonly status: number;
    readonly headers: IncomingMessage['headers'];
    readonly body: Body;
  }>;
  leave(): void;
}
interface Body {
  readonly state: string;
  readonly code?: string;
}

function ask(path: string, prefer: string, { cookie } = t.acme.member, at = replica): Asked {
  const sent = request(`${at.url}${path}`, { agent: false, headers: { Cookie: cookie, Prefer: prefer } });
  const answer = new Promise<Awaited<Asked['answer']>>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (res) => {
      let text = '';
      res.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body: JSON.parse(text) }));
    });
  });
  answer.catch(() => undefined);
  sent.end();
  return { answer, leave: () => sent.destroy() };
}

const waiting = async (at = replica): Promise<number> =>
  Number(/^corral_operation_waits_count\{[^}]*\} (\d+)$/m.exec(await at.metrics.registry.metrics())?.[1]);
const untilWaiting = (count: number, at = replica) =>
  waitFor(`${count} waiting requests`, async () => (await waiting(at)) === count);

describe('a request that prefers to wait for an operation', () => {
  it('is answered when the operation ends', async () => {
    const { path, name } = await begin(t.acme);
    const asked = ask(path, 'respond-async, wait=60');
    await untilWaiting(1);

    await endOperations(t, t.acme, name, 'succeeded');

    const { status, headers, body } = await asked.answer;
    expect([status, body.state, headers['preference-applied']]).toEqual([200, 'succeeded', 'wait=50']);
    expect(headers).not.toHaveProperty('retry-after');
  });

  it('is answered after the time if the operation has not ended', async () => {
    const { path } = await begin(t.acme);

    const { headers, body } = await ask(path, 'wait=1').answer;

    expect([body.state, headers['preference-applied'], headers['retry-after']]).toEqual(['queued', 'wait=1', '1']);
  });

  it('does not wait for an operation that has ended, nor without a valid preference, nor for a foreign team', async () => {
    const { path, name } = await begin(t.acme);
    for (const prefer of ['wait=soon', 'wait=', 'wait=-1', 'await=30', 'return=minimal']) {
      expect((await ask(path, prefer).answer).headers).not.toHaveProperty('preference-applied');
    }
    await endOperations(t, t.acme, name, 'failed');

    expect((await ask(path, 'wait=600').answer).headers['preference-applied']).toBe('wait=50');
    expect((await ask(path, 'wait=60', t.globex.member).answer).status).toBe(404);
  });

  it('is refused when the session ends meanwhile', async () => {
    const user = await t.createUser('leaves@acme.test', [{ team: t.acme, role: 'viewer' }]);
    const { path, name } = await begin(t.acme);
    const asked = ask(path, 'wait=60', user);
    await untilWaiting(1);

    await t.api.as(user).post('/auth/logout/').expect(204);
    await endOperations(t, t.acme, name, 'succeeded');

    expect(await asked.answer).toMatchObject({ status: 401, body: { code: 'authentication_required' } });
  });

  it('leaves when its client goes away', async () => {
    const { path } = await begin(t.acme);
    const asked = ask(path, 'wait=60');
    await untilWaiting(1);

    asked.leave();

    await untilWaiting(0);
  });

  it('is answered at once when the replica shuts down', async () => {
    const { path } = await begin(t.acme);
    const other = await startReplica(t);
    const asked = ask(path, 'wait=60', t.acme.member, other);
    await untilWaiting(1, other);

    await other.close();

    const { status, headers, body } = await asked.answer;
    expect([status, body.state]).toEqual([200, 'queued']);
    expect(headers).not.toHaveProperty('preference-applied');
  });

  it('takes no room from other teams, nor connections from other requests', async () => {
    const [ours, theirs] = [await begin(t.acme), await begin(t.globex)];
    const many = Array.from({ length: PER_TEAM }, () => ask(ours.path, 'wait=60'));
    await untilWaiting(PER_TEAM);

    const oneMore = await ask(ours.path, 'wait=60').answer;
    const foreign = ask(theirs.path, 'wait=60', t.globex.member);
    await untilWaiting(PER_TEAM + 1);
    const list = await ask(t.acme.path('/operations/'), '').answer;
    await endOperations(t, t.globex, theirs.name, 'succeeded');
    const end = await foreign.answer;
    await endOperations(t, t.acme, ours.name, 'succeeded');
    const ends = await Promise.all(many.map(({ answer }) => answer));

    expect([oneMore.status, oneMore.body.state, oneMore.headers['retry-after']]).toEqual([200, 'queued', '1']);
    expect(oneMore.headers).not.toHaveProperty('preference-applied');
    expect(list.status).toBe(200);
    expect(end).toMatchObject({ status: 200, body: { state: 'succeeded' } });
    expect(new Set(ends.map(({ body }) => body.state))).toEqual(new Set(['succeeded']));
  });
});
