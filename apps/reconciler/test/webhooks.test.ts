import { randomBytes, randomUUID } from 'node:crypto';
import { asWebhookId, type WebhookId } from '@corral/contracts';
import type { Queue } from '@corral/queue';
import { KeyRing } from '@corral/secrets';
import { callGuard, createMetrics, silentLog } from '@corral/service';
import { deleteRows, startWebhookReceiver, type WebhookReceiver, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { Services } from '../src/services.js';
import { webhookStore } from '../src/webhooks/store.js';
import { buildWebhookWorkers } from '../src/webhooks/workers.js';
import { type ClusterRows, openClusterRows, type TestTeam } from './support/cluster-rows.js';
import { only } from './support/only.js';

let at: ClusterRows;
let acme: TestTeam;
let receiver: WebhookReceiver;
const keys = new KeyRing([{ id: 'test', bytes: randomBytes(32) }]);
const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

beforeAll(async () => {
  at = await openClusterRows();
  receiver = await startWebhookReceiver();
});
afterAll(async () => {
  await receiver.close();
  await at.close();
});
beforeEach(async () => {
  await deleteRows(at.pool);
  acme = await at.addTeam('acme');
  receiver.received.length = 0;
  receiver.answer(() => 200);
});
afterEach(() => {
  woken.length = 0;
});

const woken: string[] = [];
const workers = (allowLoopback = true) => {
  const queue = only<Queue>({
    async nudge(_name, payload) {
      woken.push((payload as { webhookId: string }).webhookId);
    },
  });
  const services = { prisma: at.prisma, queue, metrics: createMetrics({ service: 't' }), log: silentLog };
  return buildWebhookWorkers(only<Services>(services), { keys, guard: callGuard({ privateHosts: [], allowLoopback }) });
};
const running = () => new AbortController().signal;
const deliver = (id: WebhookId) => workers().deliver(id, running());

interface Given {
  readonly kinds?: readonly string[];
  readonly secrets?: readonly string[];
  /** Whether the previous secret counts. */
  readonly overlaps?: boolean;
  readonly notice?: string | null;
  readonly team?: TestTeam;
}

/** A webhook whose events begin now. */
async function addWebhook({
  kinds = [],
  secrets = [newSecret()],
  overlaps = true,
  notice = null,
  team = acme,
}: Given = {}) {
  const id = randomUUID();
  const { bytes } = keys.seal(secrets.join(' '), id);
  await at.pool.query(
    `WITH person AS (INSERT INTO app_user (email, display_name) VALUES ($1 || '@acme.test', 'Ada') RETURNING id)
     INSERT INTO webhook (id, team_id, name, url, kinds, sealed_secrets, secrets_key_id, previous_secret_until, position_xid,
                          position_id, position_at, notice, notice_at, due_at, created_by)
     SELECT $1::uuid, $2, $1, $3, $4, $5, 'test', now() + make_interval(hours => $6),
            pg_snapshot_xmin(pg_current_snapshot())::text::bigint, 0, now(), $7, now(), now(), person.id FROM person`,
    [id, team.id, receiver.url, kinds, bytes, overlaps ? 24 : -1, notice],
  );
  return asWebhookId(id);
}
async function addEvents(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const [kind, target] = name.split(' ');
    await at.pool.query(
      `INSERT INTO team_event (team_id, kind, target_id, target_name, change) VALUES ($1, $2, $3, $4, 'changed')`,
      [acme.id, kind, randomUUID(), target],
    );
  }
  // Transactions of other tests, in other databases of the server, hold events back.
  await waitFor('the events to be readable', async () => {
    const { rows } = await at.pool.query(
      `SELECT coalesce(max(xid), 0) < pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS is_readable FROM team_event`,
    );
    return rows[0].is_readable;
  });
}
const rowOf = (id: WebhookId) => at.prisma.webhook.findUniqueOrThrow({ where: { id } });
const dueNow = (id: WebhookId) => at.pool.query('UPDATE webhook SET due_at = now() WHERE id = $1', [id]);
const isFound = async () => (await webhookStore(at.prisma).findDue(10)).length > 0;
const names = () => receiver.received.map(({ body }) => body.data.name ?? body.type);

describe('a webhook', () => {
  it('gets the events of its kinds in order, each once, signed so that Standard Webhooks verify them', async () => {
    const secret = newSecret();
    const id = await addWebhook({ kinds: ['Cluster'], secrets: [secret], notice: 'ready' });
    await addEvents('Cluster web', 'Operation web', 'Cluster batch');

    expect(await isFound()).toBe(true);
    await deliver(id);
    await addEvents('Operation web', 'Cluster late');
    await deliver(id);
    await deliver(id);

    expect(names()).toEqual(['ready', 'web', 'batch', 'late']);
    const verifier = new Webhook(secret);
    for (const { payload, headers } of receiver.received) verifier.verify(payload, headers);
    expect(() => verifier.verify('{}', receiver.received[0]?.headers ?? {})).toThrow();
    expect(receiver.received[1]?.body).toEqual({
      type: 'cluster.changed',
      timestamp: expect.stringMatching(/Z$/),
      data: {
        ...{ team: 'acme', kind: 'Cluster', change: 'changed', name: 'web', parent: null },
        ...{ id: receiver.received[1]?.id, targetId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      },
    });
    expect(await isFound()).toBe(false);
    expect(await rowOf(id)).toMatchObject({ failures: 0, failingSince: null, deliveredAt: expect.any(Date) });
  });

  it('is signed with the previous secret as well, until its day is over', async () => {
    const [secret, previous] = [newSecret(), newSecret()];
    for (const overlaps of [true, false]) {
      const id = await addWebhook({ secrets: [secret, previous], overlaps, notice: 'test' });
      await deliver(id);
    }

    const accepts = (key: string) =>
      receiver.received.map(({ payload, headers }) => {
        try {
          return new Webhook(key).verify(payload, headers) !== null;
        } catch {
          return false;
        }
      });
    expect([accepts(secret), accepts(previous)]).toEqual([
      [true, true],
      [true, false],
    ]);
  });

  it('does not reach an address that is not public', async () => {
    const id = await addWebhook();
    await addEvents('Cluster web');

    await workers(false).deliver(id, running());

    expect(receiver.received).toEqual([]);
    expect(await rowOf(id)).toMatchObject({ lastFailure: 'NOT_PUBLIC', failures: 1 });
  });
});

describe('a receiver that is down', () => {
  it('gets everything in order when it is back after an hour, and is left alone in between', async () => {
    const id = await addWebhook();
    await addEvents('Cluster one', 'Cluster two');
    receiver.answer(() => 503);

    for (let attempt = 0; attempt < 9; attempt += 1) {
      await deliver(id);
      expect(await isFound()).toBe(false);
      await deliver(id);
      await dueNow(id);
    }

    expect(names()).toEqual(Array(9).fill('one'));
    expect(new Set(receiver.received.map(({ id: messageId }) => messageId)).size).toBe(1);
    const failing = await rowOf(id);
    expect(failing).toMatchObject({ failures: 9, failingSince: expect.any(Date), lastFailure: 'status 503' });

    receiver.answer(() => 204);
    receiver.received.length = 0;
    await addEvents('Cluster three');
    await deliver(id);

    expect(names()).toEqual(['one', 'two', 'three']);
    expect(await rowOf(id)).toMatchObject({ failures: 0, failingSince: null, lastFailure: null });
  });

  it('waits longer after each failure, at most an hour', async () => {
    const id = await addWebhook();
    await addEvents('Cluster one');
    receiver.answer(() => 302);
    const waits: number[] = [];
    for (const failures of [0, 3, 30]) {
      await at.pool.query('UPDATE webhook SET failures = $2, due_at = now() WHERE id = $1', [id, failures]);
      const before = Date.now();
      await deliver(id);
      waits.push((await rowOf(id)).dueAt.getTime() - before);
    }

    const [first = 0, fourth = 0, last = 0] = waits;
    expect(first).toBeLessThan(fourth);
    expect(fourth).toBeLessThan(last);
    expect(last).toBeLessThanOrEqual(4_500_000);
    expect(names()).toEqual(['one', 'one', 'one']);
  });

  it('is told by a reset when events were lost meanwhile, and gets what follows', async () => {
    const id = await addWebhook();
    await addEvents('Cluster lost');
    receiver.answer(() => 500);
    await deliver(id);
    await at.pool.query(`UPDATE webhook SET position_at = position_at - interval '25 hours', due_at = now()`);
    await at.pool.query('DELETE FROM team_event');

    receiver.answer(() => 200);
    receiver.received.length = 0;
    await deliver(id);
    await addEvents('Cluster next');
    await deliver(id);

    expect(receiver.received.map(({ body }) => body.type)).toEqual(['reset', 'cluster.changed']);
    expect(names()).toEqual(['reset', 'next']);
  });

  it('that had nothing to get for an hour gets a pass, after which it has lost nothing', async () => {
    const id = await addWebhook();
    await at.pool.query(`UPDATE webhook SET position_at = position_at - interval '61 minutes'`);

    expect(await isFound()).toBe(true);
    await deliver(id);

    expect(receiver.received).toEqual([]);
    expect(await isFound()).toBe(false);
    expect((await rowOf(id)).positionAt.getTime()).toBeGreaterThan(Date.now() - 600_000);
  });
});

describe('no event is lost', () => {
  it('when a process dies after the receiver has accepted: it is sent again with the same id', async () => {
    const id = await addWebhook();
    await addEvents('Cluster one', 'Cluster two');
    // Another process takes it over before the first one records what happened.
    receiver.answer(async () => {
      receiver.answer(() => 200);
      await dueNow(id);
      return 200;
    });

    await deliver(id);
    await deliver(id);

    expect(names()).toEqual(['one', 'one', 'two']);
    expect(receiver.received[0]?.id).toBe(receiver.received[1]?.id);
  });

  it('when a process stops between two messages: the next one continues there', async () => {
    const id = await addWebhook();
    await addEvents('Cluster one', 'Cluster two');
    const stopping = new AbortController();
    receiver.answer(() => {
      stopping.abort();
      return 200;
    });

    await workers().deliver(id, stopping.signal);
    expect((await rowOf(id)).failures).toBe(0);
    receiver.answer(() => 200);
    await deliver(id);

    expect(names().slice(-1)).toEqual(['two']);
    expect(new Set(names())).toEqual(new Set(['one', 'two']));
  });

  it('and none is sent by two processes at the same time', async () => {
    const id = await addWebhook();
    await addEvents('Cluster one', 'Cluster two', 'Cluster three');

    await Promise.all([deliver(id), deliver(id), deliver(id)]);

    expect(names()).toEqual(['one', 'two', 'three']);
  });
});

describe('the jobs of webhooks', () => {
  it('are sent for those with something to send, and wait during a hold', async () => {
    const [id] = [await addWebhook(), await addWebhook({ kinds: ['Member'] })];
    await addEvents('Cluster web');
    const { sweep, handlers } = workers();

    await sweep(running());
    expect(woken).toContain(id);

    const run = () => handlers['deliver-webhook']({ webhookId: id }, { signal: running() } as never);
    await at.pool.query(`INSERT INTO installation_hold (reason) VALUES ('test')`);
    await run();
    expect(receiver.received).toEqual([]);
    await at.pool.query('DELETE FROM installation_hold');
    await run();
    expect(names()).toEqual(['web']);
  });

  it('leave places for other teams while receivers of one answer slowly, and its others stay due', async () => {
    const slow = await Promise.all(Array.from({ length: 6 }, () => addWebhook({ notice: 'test' })));
    const other = await addWebhook({ notice: 'test', team: await at.addTeam('other') });
    const { handlers } = workers();
    const run = (webhookId: WebhookId) => handlers['deliver-webhook']({ webhookId }, { signal: running() } as never);
    const answered = Promise.withResolvers<number>();
    receiver.answer(() => answered.promise);
    const passes = slow.map(run);
    await waitFor('four messages', async () => receiver.received.length === 4);

    receiver.answer(() => 200);
    await run(other);

    expect(receiver.received.map(({ body }) => body.data.team)).toEqual([...Array(4).fill('acme'), 'other']);
    answered.resolve(200);
    await Promise.all(passes);
    const waiting = await webhookStore(at.prisma).findDue(10);
    expect(waiting).toHaveLength(2);
    await Promise.all(waiting.map(run));
    expect(receiver.received).toHaveLength(7);
  });
});
