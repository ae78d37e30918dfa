import { connectPrisma } from '@corral/database';
import { patientTransactions } from '@corral/testing';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type ActionStore, actionStore, timedOutAction } from '../src/index.js';
import { addOf, bodyOf, mirrorFixture, newWrite, writeAccepted } from './mirror-database.js';

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

  it('can be recorded by two processes concurrently without a deadlock', async () => {
    const ids: number[] = [];
    for (let at = 0; at < 25; at += 1) ids.push((await startAction(`n${at}.${given.team.slug}`)).id);
    const open = () => connectPrisma(given.database.url, patientTransactions);
    const processes = [open(), open()];

    for (let round = 0; round < 40; round += 1) {
      const reported = ids.map((id) => ({ id, status: 'running', body: `{"round":${round}}` }));
      const all = processes.map((prisma, at) =>
        actionStore(prisma).recordActions(at === 0 ? reported : reported.toReversed()),
      );
      await Promise.all(all);
    }

    expect((await store.findActions(given.team.id, ids)).every(({ body }) => body === '{"round":39}')).toBe(true);
    await Promise.all(processes.map((prisma) => prisma.$disconnect()));
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
