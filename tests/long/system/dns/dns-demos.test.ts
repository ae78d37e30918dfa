import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Answer } from '../../../support/clients/answer.js';
import { callDns } from '../../../support/clients/dns-api.js';
import { readEntries, writesIn } from '../../../support/crashes/crash-judge.js';
import { findUnmatched } from '../../../support/crashes/upstream-history.js';
import type { Program } from '../../../support/system/program.js';
import { DEMO_ZONE, type System, startSystem, type Team } from '../../../support/system/start-system.js';

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;
const WEEK_SECONDS = 7 * DAY_SECONDS;
/** Upstream requests per hour: too few to delete the sets of many demos together. */
const BUDGET = 600;
const RECORDS = `/zones/${DEMO_ZONE}/rrsets`;

/** Each test takes its own teams, so that its remains do not affect other tests. */
const TEAMS = ['acme', 'globex', 'initech', 'umbrella', 'hooli', 'wonka', 'tyrell', 'cyberdyne', 'stark'];

let system: System;
let teamsTaken = 0;
beforeAll(async () => {
  system = await startSystem({
    gateways: 2,
    demos: true,
    teams: TEAMS,
    requestsPerHour: BUDGET,
    gatewayEnv: (index) => (index === 2 ? { DEMOS_ENABLED: 'false', DEMO_ZONE_NAME: undefined } : {}),
    reconcilerEnv: { DEMO_INTERVAL_MS: '500ms' },
  });
});
afterAll(() => system?.stop());

function freshTeam(): Team {
  const team = system.teams[teamsTaken] as Team;
  teamsTaken += 1;
  return team;
}
const call = (token: string | null, method: string, path: string, body?: object): Promise<Answer> =>
  callDns(system.url, { method, path, ...(token === null ? {} : { token }), ...(body && { body }) });

interface Demo {
  readonly label: string;
  readonly token: string;
}

async function makeDemo(token: string | null, body: object): Promise<Demo> {
  const { status, json } = await call(token, 'POST', '/demos', body);
  expect([status, json.error]).toEqual([201, undefined]);
  return { label: json.demo.label, token: json.token };
}

const createSet = (token: string, name: string, records = 1): Promise<Answer> => {
  const values = Array.from({ length: records }, (_, index) => ({ value: `192.0.2.${index + 1}` }));
  return call(token, 'POST', RECORDS, { name, type: 'A', records: values });
};

const refusal = ({ status, json }: Answer): [number, string] => [status, json.error.code];

/** Makes the demos older by this many seconds. Demos past their lifetime end. */
async function age(labels: readonly string[], seconds: number): Promise<void> {
  const { rowCount } = await system.pool.query(
    `UPDATE demo SET created_at = created_at - make_interval(secs => $2),
                     expires_at = expires_at - make_interval(secs => $2),
                     ended_at = ended_at - make_interval(secs => $2)
     WHERE label = ANY ($1) AND released_at IS NULL`,
    [labels, seconds],
  );
  expect(rowCount).toBe(labels.length);
}

/** The sets that the demo zone holds upstream at and below these labels. */
async function heldBy(labels: readonly string[]): Promise<string[]> {
  const names = await system.cloud.namesIn(DEMO_ZONE);
  return names.filter((name) => labels.includes(name.slice(name.lastIndexOf('.') + 1)));
}

describe('a demo', () => {
  it('is created, listed, shown, extended and deleted with a token of its team', async () => {
    const { token } = freshTeam();
    const created = await call(token, 'POST', '/demos', { name: 'Summer Fair 2026!', ttl: 600 });
    const { label } = created.json.demo;
    expect(created.json.demo).toMatchObject({ label: 'summer-fair-2026', zone: DEMO_ZONE, ttl: 600, records: 0 });
    expect((await createSet(created.json.token, `www.${label}`, 2)).status).toBe(201);

    const shown = [await call(token, 'GET', '/demos'), await call(token, 'GET', `/demos/${label}`)];
    expect([shown[0]?.json.demos, shown[1]?.json.demo]).toMatchObject([[{ label, records: 2 }], { label, records: 2 }]);
    for (const { text } of shown) expect(text).not.toContain(created.json.token);
    expect(refusal(await call(freshTeam().token, 'GET', `/demos/${label}`))).toEqual([404, 'not_found']);

    const extended = await call(token, 'POST', `/demos/${label}/actions/extend`, { ttl: 2 * HOUR_SECONDS });
    expect(lifetime(extended)).toBeGreaterThanOrEqual(2 * HOUR_SECONDS);
    await age([label], DAY_SECONDS);
    expect((await call(token, 'GET', `/demos/${label}`)).status).toBe(404); // its two hours are over
    const { label: other, token: otherToken } = await makeDemo(token, { ttl: WEEK_SECONDS });
    await age([other], DAY_SECONDS);
    const capped = await call(otherToken, 'POST', `/demos/${other}/actions/extend`, { ttl: WEEK_SECONDS });
    expect(capped.json.demo.expires_at).toBe(capped.json.demo.max_expires_at);
    expect(lifetime(capped)).toBe(WEEK_SECONDS);

    expect((await createSet(otherToken, other)).status).toBe(201);
    expect((await call(token, 'DELETE', `/demos/${other}`)).status).toBe(204);
    expect(await heldBy([other])).toEqual([]);
    expect(refusal(await call(token, 'GET', `/demos/${other}`))).toEqual([404, 'not_found']);
    await untilRefused(otherToken);
    expect((await call(token, 'GET', '/demos')).json.demos).toEqual([]);
  });
});

describe('many demos that end together', () => {
  const COURSES = ['CROWD-ONE', 'CROWD-TWO'];
  const DEMOS_PER_COURSE = 40;
  const DEMOS = COURSES.length * DEMOS_PER_COURSE;
  /** The longest time from the end of a demo's lifetime to the revocation of its token. */
  const END_SECONDS_MAX = 30;

  it('end within 30 s, are cleared within the budget, and are all removed even if the reconciler is killed in between', async () => {
    const team = freshTeam();
    const demos: Demo[] = [];
    for (const code of COURSES) {
      const most = String(DEMOS_PER_COURSE);
      await system.admin('course', 'create', code, '--limit', most, '--per-address', most);
      const wish = { course_code: code, ttl: 300 };
      const made = Array.from({ length: DEMOS_PER_COURSE }, () =>
        // A machine under load may refuse part of the crowd at first.
        waitFor('a demo of the crowd', () => makeDemo(null, wish)),
      );
      demos.push(...(await Promise.all(made)));
    }
    const labels = demos.map(({ label }) => label);
    const created = demos.map(({ token, label }) =>
      waitFor('a set of the crowd', async () => {
        const { status } = await createSet(token, `www.${label}`);
        return status !== 503 && status;
      }),
    );
    expect(await Promise.all(created)).toEqual(demos.map(() => 201));

    // The reconciler is not done before it is killed.
    const stuck = { match: { method: 'DELETE', path: `/www\\.${labels.at(-1)}/` }, effect: { hang: true } };
    await system.cloud.addFaults({ ...stuck, times: null });
    await age(labels, 301);
    const { rows } = await system.pool.query<{ at: Date }>('SELECT clock_timestamp() AS at');
    await Promise.all(demos.map(({ token }) => untilRefused(token)));
    await waitFor('all to have ended', async () => (await openEnds()) === 0);
    expect(await secondsToEnd(labels, rows[0]?.at as Date)).toBeLessThan(END_SECONDS_MAX);
    const isHalfCleared = async () => (await heldBy(labels)).length <= DEMOS / 2;
    await waitFor('half of them to be cleared', isHalfCleared);
    const [reconciler] = system.reconcilers as [Program];
    await reconciler.kill();
    const leftAtKill = (await heldBy(labels)).length;
    process.stderr.write(`${leftAtKill} of ${DEMOS} demos were left when the reconciler was killed\n`);
    expect(leftAtKill).toBeGreaterThan(0);
    expect((await system.cloud.budget()).refused).toBe(0);
    await system.cloud.clearFaults();
    await anHourLater();
    await reconciler.start();

    await waitFor('all to be cleared', async () => (await heldBy(labels)).length === 0);
    await waitFor('no write to be open', async () => (await openWrites()) === 0);
    expect((await system.cloud.budget()).refused).toBe(0);
    const [writes, entries] = [await writesIn(system, DEMO_ZONE), await readEntries(system, DEMO_ZONE)];
    expect(findUnmatched(writes, entries)).toEqual([]);
    const again = () => call(team.token, 'POST', '/demos', { name: labels[0] });
    expect(refusal(await again())).toEqual([409, 'uniqueness_error']);
    await age(labels, HOUR_SECONDS);
    expect((await again()).status).toBe(201);
  });

  /** Makes the budget refill: the upstream clock moves an hour ahead, and the budget account was last kept an hour earlier. */
  async function anHourLater(): Promise<void> {
    await system.cloud.admin('POST', '/clock', { advanceMs: HOUR_SECONDS * 1_000 });
    await system.pool.query(
      `UPDATE upstream_budget SET version = version + 1,
         state = jsonb_set(state::jsonb, '{at}', to_jsonb((state::jsonb ->> 'at')::float8 - $1))::text`,
      [HOUR_SECONDS * 1_000],
    );
  }
  /** Demos whose time is over but that have not been ended yet. */
  async function openEnds(): Promise<number> {
    const { rows } = await system.pool.query<{ open: number }>(
      'SELECT count(*)::int AS open FROM demo WHERE ended_at IS NULL AND expires_at <= clock_timestamp()',
    );
    return rows[0]?.open ?? 0;
  }
  /** How long after `expiredAt` the last of the demos was ended, by the clock of Postgres. */
  async function secondsToEnd(labels: readonly string[], expiredAt: Date): Promise<number> {
    const { rows } = await system.pool.query<{ seconds: number }>(
      'SELECT extract(epoch FROM max(ended_at) - $2)::float8 AS seconds FROM demo WHERE label = ANY ($1)',
      [labels, expiredAt],
    );
    return rows[0]?.seconds ?? Number.NaN;
  }
  async function openWrites(): Promise<number> {
    return (await readEntries(system, DEMO_ZONE)).filter(({ state }) => state === 'pending').length;
  }
});

const lifetime = ({ json: { demo } }: Answer): number =>
  Math.round((Date.parse(demo.expires_at) - Date.parse(demo.created_at)) / 1_000);

/** Gateways cache tokens in memory. Postgres notifies them of a revoked token a moment after the commit. */
const untilRefused = (token: string) =>
  waitFor('the token to be refused', async () => (await call(token, 'GET', '/zones')).status === 401);
