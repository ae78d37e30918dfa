import type { Pool } from '@corral/database';
import { startFlakyProxy, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type DnsTokenVerifier, dnsTokenVerifier, hashDnsToken, mintDnsToken, type TeamRecord } from '../src/index.js';
import { type AuthDatabase, openAuthDatabase } from './auth-database.js';

const LISTENER = 'verifier under test';

let database: AuthDatabase;
let team: TeamRecord;
let open: { verifier: DnsTokenVerifier; lookUps: () => number; holdNext: () => () => void; errors: Error[] };

beforeAll(async () => {
  database = await openAuthDatabase();
});
afterAll(() => database.close());
afterEach(() => open.verifier.close());

describe('a DNS token', () => {
  it('yields its owner and its narrowing', async () => {
    await start('known');
    const expiresAt = new Date(Date.now() + 3_600_000);
    const narrowing = { withinName: 'api.known', withinTypes: ['TXT'], expiresAt };
    const { token, record } = await database.tokens.issueToken(team, { name: 'narrow', ...narrowing });

    expect(await open.verifier.verify(token)).toEqual({
      tokenId: record.id,
      kind: 'team',
      ownerId: team.id,
      ownerLabel: 'known',
      teamId: team.id,
      accountId: team.id,
      scopes: ['dns'],
      withinName: 'api.known',
      withinTypes: ['TXT'],
      expiresAt,
      tokenRequestsMax: null,
      teamRequestsMax: null,
    });
  });

  it('that was never issued is refused, without a look-up when its checksum is wrong', async () => {
    await start('never');

    expect(await open.verifier.verify('x'.repeat(64))).toBeNull();
    expect(await open.verifier.verify('')).toBeNull();
    expect(open.lookUps()).toBe(0);
    expect(await open.verifier.verify(mintDnsToken())).toBeNull();
    expect(open.lookUps()).toBe(1);
  });

  it('ends at its expiry, cached or not', async () => {
    let now = 0;
    await start('expiring', { now: () => now });
    const { token, id } = await issue(new Date(Date.now() + 60_000));
    await sql(`UPDATE dns_token SET expires_at = clock_timestamp() + interval '60 s' WHERE id = '${id}'`);
    await waitUntilWarm(token);

    now += 50_000;
    expect(await open.verifier.verify(token)).not.toBeNull();
    now += 10_000;
    expect(await open.verifier.verify(token)).toBeNull();

    await sql(`UPDATE dns_token SET expires_at = clock_timestamp() WHERE id = '${id}'`);
    await untilLookedUp(token);
    expect(await open.verifier.verify(token)).toBeNull();
  });

  it('expires by the database’s clock, whatever the clock of the process shows', async () => {
    await start('skewed', { now: () => Date.UTC(2199, 0, 1) });
    const { token } = await issue(new Date(Date.now() + 60_000));

    expect(await open.verifier.verify(token)).not.toBeNull();
    expect(await open.verifier.verify(token)).not.toBeNull();
  });
});

describe('a change of a cached token', () => {
  it.each([
    ['its revocation by another process', 'UPDATE dns_token SET revoked_at = now()'],
    ['its deletion', 'DELETE FROM dns_token'],
  ])('takes effect as soon as Postgres notifies it, and drops no other token: %s', async (_what, statement) => {
    await start(`change-${statement.length}`);
    const [{ token, id }, other] = [await issue(), await issue()];
    expect(await open.verifier.verify(token)).not.toBeNull();
    await open.verifier.verify(other.token);

    await sql(`${statement} WHERE id = '${id}'`);

    await waitFor('the token to be refused', async () => (await open.verifier.verify(token)) === null);
    const before = open.lookUps();
    await open.verifier.verify(other.token);
    expect(open.lookUps()).toBe(before);
  });
});

describe('a look-up overtaken by a revocation', () => {
  it('is not cached', async () => {
    await start('race');
    const [raced, witness] = [await issue(), await issue()];
    await open.verifier.verify(witness.token);
    const release = open.holdNext();
    const verdict = open.verifier.verify(raced.token); // has read its row and is waiting
    await waitFor('the row to be read', () => open.lookUps() === 2);

    await sql(`UPDATE dns_token SET revoked_at = now() WHERE id IN ('${raced.id}', '${witness.id}')`);
    const heard = async () => (await open.verifier.verify(witness.token)) === null;
    await waitFor('the verifier to receive the notification', heard);
    release();

    expect(await verdict).not.toBeNull(); // it was valid when the request came
    expect(await open.verifier.verify(raced.token)).toBeNull();
  });
});

describe('the token of a demo', () => {
  it('yields the demo as owner, and the account to charge', async () => {
    await start('maker');
    await sql(`UPDATE team SET dns_token_requests_max = 30, dns_requests_max = 90 WHERE id = '${team.id}'`);
    const ofTeam = await issueDemo({ teamId: team.id });
    const ofCourse = await issueDemo({ courseCode: 'WORKSHOP' });

    expect(await open.verifier.verify(ofTeam.token)).toMatchObject({
      kind: 'demo',
      ownerId: ofTeam.demoId,
      ownerLabel: ofTeam.label,
      teamId: team.id,
      accountId: team.id,
      scopes: ['dns'],
      withinName: null,
      withinTypes: [],
      tokenRequestsMax: 30,
      teamRequestsMax: 90,
    });
    expect(await open.verifier.verify(ofCourse.token)).toMatchObject({
      kind: 'demo',
      ownerId: ofCourse.demoId,
      teamId: null,
      accountId: ofCourse.courseCodeId,
    });
  });

  it("ends with the demo, cached or not, whatever the token's own expiry", async () => {
    let now = 0;
    await start('moment', { now: () => now });
    const { token, demoId } = await issueDemo({ teamId: team.id });
    await waitUntilWarm(token);
    now += 3_500_000;
    expect(await open.verifier.verify(token)).not.toBeNull();
    now += 100_000;
    expect(await open.verifier.verify(token)).toBeNull();

    await sql(`UPDATE demo SET expires_at = clock_timestamp() WHERE id = '${demoId}'`);
    await sql(`UPDATE dns_token SET expires_at = now() + interval '1 year' WHERE demo_id IS NOT NULL`);
    await untilLookedUp(token);
    expect(await open.verifier.verify(token)).toBeNull();
  });

  it('stays valid after an extension even if it was cached', async () => {
    let now = 0;
    await start('extended', { now: () => now });
    const { token, demoId } = await issueDemo({ teamId: team.id });
    await open.verifier.verify(token);
    now += 3_601_000;

    await sql(`UPDATE demo SET expires_at = expires_at + interval '1 hour' WHERE id = '${demoId}'`);

    await waitFor('the notification of the extension', async () => (await open.verifier.verify(token)) !== null);
  });
});

describe('while the listening connection is lost', () => {
  it('no cached token is trusted until it is restored', async () => {
    await start('gap');
    const [revoked, kept] = [await issue(), await issue()];
    await open.verifier.verify(revoked.token);
    await open.verifier.verify(kept.token);

    await sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${LISTENER}'`);
    await waitFor('the loss to be noticed', () => open.errors.length === 1);
    await sql(`UPDATE dns_token SET revoked_at = now() WHERE id = '${revoked.id}'`);

    expect(await open.verifier.verify(revoked.token)).toBeNull();
    expect(await open.verifier.verify(kept.token)).not.toBeNull();
    await waitUntilWarm(kept.token);
    expect(await open.verifier.verify(revoked.token)).toBeNull();
  });
});

describe('while the listening connection hangs', () => {
  it('a revoked token is refused after 2 s without a notification', async () => {
    let tick = 0;
    const { proxy, listenUrl } = await listenThroughProxy();
    try {
      await start('two-seconds', { listenUrl, tick: () => tick });
      const [revoked, kept] = [await issue(), await issue()];
      await waitUntilWarm(revoked.token);
      await waitUntilWarm(kept.token);

      proxy.hang();
      await sql(`UPDATE dns_token SET revoked_at = now() WHERE id = '${revoked.id}'`);
      const before = open.lookUps();
      tick += 2_000;

      expect(await open.verifier.verify(revoked.token)).toBeNull();
      expect(await open.verifier.verify(kept.token)).not.toBeNull();
      expect(open.lookUps()).toBe(before + 2);
    } finally {
      await proxy.close();
    }
  });
});

async function listenThroughProxy() {
  const { hostname: host, port } = new URL(database.url);
  const proxy = await startFlakyProxy({ host, port: Number(port) });
  const url = new URL(database.url);
  url.host = `127.0.0.1:${proxy.port}`;
  return { proxy, listenUrl: url.toString() };
}

interface StartOptions {
  readonly now?: () => number;
  readonly tick?: () => number;
  /** Database URL for the listening connection. */
  readonly listenUrl?: string;
}

async function start(
  slug: string,
  { now = () => performance.now(), tick, listenUrl = database.url }: StartOptions = {},
): Promise<void> {
  team = await database.teams.createTeam(slug);
  let lookUps = 0;
  let gate: Promise<void> | null = null;
  const pool = {
    query: async (statement: string) => {
      const waitsFor = gate;
      gate = null;
      const result = await database.pool.query(statement);
      lookUps += 1;
      await waitsFor;
      return result;
    },
  } as unknown as Pool;
  const errors: Error[] = [];
  const verifier = dnsTokenVerifier({
    pool,
    now,
    databaseUrl: listenUrl,
    applicationName: LISTENER,
    cachedMs: 3_600_000, // longer than any test, so tokens leave the cache only by notification
    onListenError: (error) => errors.push(error),
    ...(tick === undefined ? {} : { tick }),
  });
  const holdNext = () => {
    let release = (): void => undefined;
    gate = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  };
  open = { verifier, errors, holdNext, lookUps: () => lookUps };
  const { token, id } = await issue();
  await waitUntilWarm(token);
  await sql(`DELETE FROM dns_token WHERE id = '${id}'`);
  await waitFor('the first token to be dropped', async () => (await verifier.verify(token)) === null);
  lookUps = 0;
}

/** Verifies until it costs this many look-ups. */
async function verifyUntil(lookUps: number, token: string): Promise<void> {
  await waitFor('the verifier to have heard of the token', async () => {
    const before = open.lookUps();
    await open.verifier.verify(token);
    return open.lookUps() === before + lookUps;
  });
}
/** Only a verifier that is listening caches tokens. */
const waitUntilWarm = (token: string) => verifyUntil(0, token);
/** A token whose change was notified is in the cache no longer. */
const untilLookedUp = (token: string) => verifyUntil(1, token);

async function issue(expiresAt?: Date): Promise<{ token: string; id: string }> {
  const { token, record } = await database.tokens.issueToken(team, { name: 'test', expiresAt });
  return { token, id: record.id };
}

const sql = (statement: string) => database.pool.query(statement);

let demos = 0;

/** Creates a demo that expires in an hour, with its token. */
async function issueDemo(maker: { teamId: string } | { courseCode: string }) {
  demos += 1;
  const token = mintDnsToken();
  const label = `demo-${demos}`;
  await sql(`INSERT INTO dns_zone (id, name, body, synced_at) VALUES (1, 'demo.example.test', '{}', now())
             ON CONFLICT DO NOTHING`);
  const course = 'courseCode' in maker ? maker.courseCode : null;
  const { rows } = await database.pool.query<{ demoId: string; courseCodeId: string | null; expiresAt: Date }>(
    `WITH course AS (
       INSERT INTO course_code (code, hash, live_demos_max)
       SELECT $1, sha256($1::text::bytea), 20 WHERE $1 IS NOT NULL RETURNING id
     ), made AS (
       INSERT INTO demo (zone_id, label, name, team_id, course_code_id, ttl_seconds, expires_at)
       VALUES (1, $2, $2, $3, (SELECT id FROM course), 3600, now() + interval '1 hour') RETURNING *
     ), issued AS (
       INSERT INTO dns_token (demo_id, name, hash, scopes, within_types) SELECT id, 'demo', $4, '{dns}', '{}' FROM made
     )
     SELECT id AS "demoId", course_code_id AS "courseCodeId", expires_at AS "expiresAt" FROM made`,
    [course, label, 'teamId' in maker ? maker.teamId : null, hashDnsToken(token)],
  );
  return { token, label, ...(rows[0] as { demoId: string; courseCodeId: string | null; expiresAt: Date }) };
}
