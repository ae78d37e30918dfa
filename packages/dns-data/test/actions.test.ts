import { waitFor } from '@corral/testing';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type ActionStore,
  actionStore,
  type PollLease,
  type PollLeases,
  pollLeases,
  timedOutAction,
} from '../src/index.js';
import { addOf, bodyOf, mirrorFixture, newWrite, writeAccepted } from './mirror-database.js';

describe('actions', () => {
  const given = mirrorFixture();

  let store: ActionStore;
  beforeAll(() => {
    store = actionStore(given.database.prisma);
  });

  async function startAction(name = `api.${given.team.slug}`): Promise<{ id: number; entryId: number }> {
    return writeAccepted(given.ledger, newWrite(given.team, name, addOf(1)), bodyOf(name, 1));
  }

  describe('the actions of a team', () => {
    it('include those of its own writes only', async () => {
      const mine = await startAction();
      const stranger = await given.database.createTeam();

      expect((await store.findActions(given.team.id, [1, mine.id, mine.id])).map(({ id }) => id)).toEqual([mine.id]);
      expect(await store.findActions(stranger.id, [mine.id])).toEqual([]);
    });

    it('are returned in order of id, with the latest reported state', async () => {
      const [one, two] = [await startAction('a'), await startAction('b')];

      await store.recordActions([{ id: two.id, status: 'success', body: '{ "id": 2 }' }]);

      const found = await store.findActions(given.team.id, [two.id, one.id]);
      expect(found.map(({ id, status }) => ({ id, status }))).toEqual([
        { id: one.id, status: 'running' },
        { id: two.id, status: 'success' },
      ]);
      expect(found[1]?.body).toBe('{ "id": 2 }');
    });

    it('stay finished, whatever is reported later', async () => {
      const { id } = await startAction();
      await store.recordActions([{ id, status: 'success', body: '"first"' }]);

      await store.recordActions([{ id, status: 'running', body: '"late"' }]);

      expect((await store.findActions(given.team.id, [id]))[0]).toMatchObject({ status: 'success', body: '"first"' });
    });

    it('schedule a recheck of their set when they fail, and only then', async () => {
      const [failed, done] = [await startAction('a'), await startAction('b')];

      await store.recordActions([
        { id: failed.id, status: 'error', body: '{}' },
        { id: done.id, status: 'success', body: '{}' },
        { id: 1, status: 'error', body: '{}' },
      ]);

      expect((await given.database.entry(failed.entryId)).recheck_at).toBeInstanceOf(Date);
      expect((await given.database.entry(done.entryId)).recheck_at).toBeNull();
    });
  });

  const RUNNING = '{"id":880001,"status":"running","progress":10,"finished":null,"error":null,"later":{"field":1.0}}';

  describe('timedOutAction', () => {
    it('ends the action in an error and keeps every other member', () => {
      const { status, body } = timedOutAction({ id: 880001, body: RUNNING }, new Date('2026-01-02T03:04:05Z'));

      expect(status).toBe('error');
      expect(JSON.parse(body)).toMatchObject({
        id: 880001,
        status: 'error',
        progress: 10,
        finished: '2026-01-02T03:04:05.000Z',
        later: { field: 1 },
        error: { code: 'timeout' },
      });
    });
  });
});

describe('leases to poll', () => {
  const given = mirrorFixture();

  const LONG = { intervalMs: 0, leaseMs: 60_000, wantedMs: 60_000 };
  let polls: PollLeases;
  beforeAll(() => {
    polls = pollLeases(given.database.prisma);
  });
  beforeEach(async () => {
    await given.database.pool.query('DELETE FROM dns_action_poll');
    await given.database.pool.query('DELETE FROM dns_action');
  });

  let names = 0;
  async function startAction(): Promise<number> {
    names += 1;
    const name = `n${names}.${given.team.slug}`;
    return (await writeAccepted(given.ledger, newWrite(given.team, name, addOf(1)), bodyOf(name, 1))).id;
  }

  function ours(lease: PollLease): Extract<PollLease, { kind: 'ours' }> {
    if (lease.kind !== 'ours') throw new Error(`Another has the lease, for ${lease.waitMs} ms.`);
    return lease;
  }

  describe('the lease to poll actions', () => {
    it('is held by one process at a time, which polls for all waiting clients', async () => {
      const [one, two] = [await startAction(), await startAction()];
      const first = ours(await polls.takePoll([one], LONG));
      const second = await polls.takePoll([two], LONG);
      await polls.endPoll(first.until, first.ids, 0);

      const third = ours(await polls.takePoll([], LONG));

      expect(first.ids).toEqual([one]);
      expect(second).toEqual({ kind: 'taken', waitMs: expect.any(Number) });
      expect(third.ids).toEqual([two, one]);
    });

    it('is free again after its holder died, whose late end changes nothing', async () => {
      const id = await startAction();
      const dead = ours(await polls.takePoll([id], { ...LONG, leaseMs: 20 }));

      const next = await waitFor('the lease to be free', async () => {
        const lease = await polls.takePoll([id], LONG);
        return lease.kind === 'ours' ? lease : null;
      });
      await polls.endPoll(dead.until, [], 0);

      expect(next.ids).toEqual([id]);
      expect((await polls.takePoll([id], LONG)).kind).toBe('taken');
    });
  });

  describe('the lease to look up actions without waiting clients', () => {
    const startOld = async (): Promise<number> => {
      const id = await startAction();
      await given.database.pool.query(
        `UPDATE dns_action SET checked_at = checked_at - interval '1 minute' WHERE id = $1`,
        [id],
      );
      return id;
    };

    it('comes once per interval across processes, independent of the polling lease', async () => {
      const id = await startOld();
      ours(await polls.takePoll([id], LONG));

      const [one, other] = await Promise.all([polls.takeLookUp(60_000, 60_000), polls.takeLookUp(60_000, 60_000)]);

      expect([...one, ...other]).toEqual([{ id, body: expect.any(String), overdue: false }]);
      expect(await polls.takeLookUp(60_000, 60_000)).toEqual([]);
    });

    it('includes fresh actions while there is room, and marks the overdue ones', async () => {
      const old = await startOld();
      const fresh = await startAction();

      await given.database.pool.query(
        `UPDATE dns_action SET started_at = started_at - interval '1 hour' WHERE id = $1`,
        [old],
      );

      const found = await polls.takeLookUp(0, 60_000);
      await actionStore(given.database.prisma).recordActions([{ id: old, status: 'success', body: '{}' }]);

      expect(found).toMatchObject([
        { id: old, overdue: true },
        { id: fresh, overdue: false },
      ]);
      expect(await polls.takeLookUp(0, 60_000)).toEqual([]);
    });
  });
});
