import type { Pool } from '@corral/database';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { countRequests, type RequestCounter, requestCounter, type TeamRecord } from '../src/index.js';
import { type AuthDatabase, openAuthDatabase } from './auth-database.js';

let database: AuthDatabase;
let team: TeamRecord;
let other: TeamRecord;
beforeAll(async () => {
  database = await openAuthDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.pool.query('TRUNCATE team CASCADE');
  [team, other] = [await database.teams.createTeam('acme'), await database.teams.createTeam('globex')];
});
afterEach(() => {
  jest.restoreAllMocks();
});

const MINUTE_MS = 60_000;
const fail = (error: Error): never => {
  throw error;
};
const noteTimes = (counter: RequestCounter, { id }: TeamRecord, times: number): void => {
  for (let time = 0; time < times; time += 1) counter.note(id);
};
/** A fixed time for the whole test, so that the minute cannot end during it. */
let now: number;
beforeEach(() => {
  now = Date.now();
});
/** Runs the synchronous part of `work` as if it happened this many minutes ago. */
function ago<T>(minutes: number, work: () => T): T {
  const clock = jest.spyOn(Date, 'now').mockReturnValue(now - minutes * MINUTE_MS);
  const result = work();
  clock.mockRestore();
  return result;
}
const lastHour = ({ id }: TeamRecord) => ago(0, () => countRequests(database.prisma, id));

/** A counter whose statements are counted and can be made to fail. */
function start({ answerIsLost = false } = {}) {
  let statements = 0;
  let isAway = false;
  const errors: Error[] = [];
  const query = async (statement: string) => {
    statements += 1;
    if (isAway && !answerIsLost) throw new Error('away');
    const answer = await database.pool.query(statement);
    if (isAway) throw new Error('the answer is lost');
    return answer;
  };
  const counter = requestCounter({ query } as unknown as Pool, (error) => errors.push(error));
  return {
    counter,
    errors,
    statements: () => statements,
    setAway: (to: boolean) => {
      isAway = to;
    },
  };
}

describe('the request counts of a team', () => {
  it('are written in one statement, whatever the traffic', async () => {
    const { counter, statements } = start();

    noteTimes(counter, team, 1_000);
    noteTimes(counter, other, 7);
    await counter.close();

    expect(statements()).toBe(1);
    expect([await lastHour(team), await lastHour(other)]).toEqual([1_000, 7]);
  });

  it('are summed over all processes', async () => {
    const counters = [1, 2, 3].map(() => requestCounter(database.pool, fail));

    for (const counter of counters) noteTimes(counter, team, 10);
    await Promise.all(counters.map((counter) => counter.close()));

    expect(await lastHour(team)).toBe(30);
  });

  it('cover the last sixty minutes', async () => {
    const counter = requestCounter(database.pool, fail);

    for (const minutes of [61, 59, 0]) ago(minutes, () => noteTimes(counter, team, minutes + 1));
    await counter.close();

    expect(await lastHour(team)).toBe(61);
  });

  it('are not doubled when the outcome of a statement is unknown', async () => {
    const { counter, errors, setAway } = start({ answerIsLost: true });

    noteTimes(counter, team, 5);
    setAway(true);
    await counter.close();
    setAway(false);
    noteTimes(counter, team, 2);
    await counter.close();

    expect(errors).toHaveLength(1);
    expect(await lastHour(team)).toBe(7);
  });

  it('are kept for at most an hour while Postgres is unavailable', async () => {
    const { counter, errors, setAway } = start();

    setAway(true);
    for (let minutes = 90; minutes >= 0; minutes -= 1) ago(minutes, () => counter.note(team.id));
    await counter.close();
    setAway(false);
    await counter.close();

    expect(errors).toHaveLength(1);
    expect(await lastHour(team)).toBe(60);
  });

  it('are written even when another team was deleted', async () => {
    const counter = requestCounter(database.pool, fail);
    noteTimes(counter, team, 3);
    noteTimes(counter, other, 4);
    await database.prisma.team.delete({ where: { id: other.id } });

    await counter.close();

    expect([await lastHour(team), await lastHour(other)]).toEqual([3, 0]);
  });
});
