import { connectBudgetStore } from '@corral/upstream-budget';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin } from './support/start-admin.js';

let admin: TestAdmin;
beforeAll(async () => {
  admin = await startAdmin();
});
afterAll(() => admin.stop());
beforeEach(() => admin.empty());

interface Shown {
  readonly projects: readonly {
    readonly limit: number;
    readonly flows: readonly {
      team: string | null;
      name: string;
      waiting: number;
      ahead: number;
      promisedAt: string[];
    }[];
  }[];
}

describe('upstream show', () => {
  it('says that nobody called the upstream', async () => {
    expect((await admin.run('upstream', 'show')).out).toContain('No process has called');
    expect(await admin.json('upstream', 'show')).toEqual({ projects: [] });
  });

  it('shows who waits and since when, how far each team is ahead, and what is promised', async () => {
    const { id: acme } = await admin.json<{ id: string }>('team', 'create', 'acme');
    const { id: globex } = await admin.json<{ id: string }>('team', 'create', 'globex');
    const store = connectBudgetStore({
      redisUrl: undefined,
      run: (statement) => admin.pool.query(statement),
      onError: () => undefined,
    });
    await store.update('project', (_state, now) => {
      const buckets = { common: 0, cleanup: 0, poll: 0, settle: 0, recheck: 0, sync: 0 };
      const waiting = [{ class: 'write', flow: acme, count: 3, since: now - 60_000 }] as const;
      const state = {
        form: 3,
        epoch: 'e',
        at: now,
        limit: 3_600,
        buckets,
        order: { round: 7, next: { [globex]: 12, '~poll': 8 } },
        askedAt: {},
        ended: 0,
        pausedUntil: 0,
        refusals: 0,
        promises: [{ flow: globex, dueAt: now + 120_000 }],
        replicas: { r: { seenAt: now, leaseUntil: now + 60_000, out: 0, waiting, turns: [] } },
      } as const;
      return { state, answer: null };
    });

    const [project] = (await admin.json<Shown>('upstream', 'show')).projects;
    const { out } = await admin.run('upstream', 'show');

    expect(project?.flows.map(({ team, name, waiting }) => [team, name, waiting])).toEqual([
      ['acme', 'acme', 3],
      ['globex', 'globex', 0],
      [null, 'poll', 0],
    ]);
    expect(project?.flows.map(({ ahead }) => ahead)).toEqual([0, 5, 1]);
    expect(project?.flows.map(({ promisedAt }) => promisedAt.length)).toEqual([0, 1, 0]);
    expect(out).toMatch(/FOR +WAITING +SINCE +AHEAD +NEXT PROMISED +PROMISED\nacme +3 +20\S+Z +0 +- +0\nglobex +0 +- /);
  });
});

describe('retention', () => {
  const givenOldEvents = () =>
    admin.pool.query(
      `INSERT INTO operator_act (operator, action, target_kind, target_name, created_at)
       SELECT 'ada', 'user.create', 'User', 'u' || n, now() - interval '500 days' FROM generate_series(1, 3) AS n`,
    );
  const dueOf = async (): Promise<number | undefined> =>
    (await admin.json<{ rules: { name: string; due: number }[] }>('retention', 'show')).rules.find(
      ({ name }) => name === 'operator_acts',
    )?.due;

  it('shows what is due by each rule, and applies the rules only with --yes', async () => {
    await givenOldEvents();

    const shown = await admin.run('retention', 'run');
    expect(shown.out).toMatch(/operator_acts +operator_act +400 +3\n/);
    expect(await dueOf()).toBe(3);

    expect((await admin.json<{ swept: object }>('retention', 'run', '--yes')).swept).toEqual({ operator_acts: 3 });
    expect(await dueOf()).toBe(0);
  });

  it('keeps the audit log as long as the reconcilers do', async () => {
    await givenOldEvents();
    const env = { DATABASE_URL: admin.databaseUrl, AUDIT_RETENTION_DAYS: '600' };

    expect((await admin.runWith(env, 'retention', 'show')).out).toMatch(/operator_acts +operator_act +600 +0\n/);
    expect((await admin.runWith({ ...env, AUDIT_RETENTION_DAYS: '0' }, 'retention', 'show')).code).toBe(1);
  });
});
