import { createHash } from 'node:crypto';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type DeviceSignInStore,
  deviceSignInStore,
  type SessionStore,
  sessionStore,
  type UserRecord,
  userStore,
} from '../src/index.js';
import { type AuthDatabase, openAuthDatabase } from './auth-database.js';

const times = { idleMs: 3_600_000, absoluteMs: 7_200_000 };
const device = { name: 'Corral CLI on build-server', address: '203.0.113.7', userAgent: 'corral/1.0' };

let database: AuthDatabase;
let devices: DeviceSignInStore;
let sessions: SessionStore;
let ann: UserRecord;
/** The session of Ann's browser. */
let browser: string;

beforeAll(async () => {
  database = await openAuthDatabase();
  devices = deviceSignInStore(database.prisma, times);
  sessions = sessionStore(database.pool, database.prisma, times);
  ann = await userStore(database.prisma).createUser({ email: 'ann@acme.test' });
});
afterAll(() => database.close());
beforeEach(async () => {
  browser = (await sessions.start(ann.id, null)).secret;
});

const decide = async (userCode: string, isAllowed = true) => {
  const allowedBy = isAllowed ? ((await sessions.find(browser))?.id as string) : null;
  return database.prisma.$transaction((tx) => devices.decide(tx, userCode, allowedBy));
};
const poll = (deviceCode: string) => devices.poll(deviceCode, device.userAgent);
/** @returns the codes of a machine that Ann has allowed to sign in */
async function allowed() {
  const codes = await devices.begin(device);
  await decide(codes.userCode);
  return codes;
}
const started = () => database.prisma.session.count({ where: { method: 'command_line', revokedAt: null } });

describe('a device code', () => {
  it('gives its session to one of several polls at the same time', async () => {
    const { deviceCode } = await allowed();
    const before = await started();

    const answers = await Promise.all(Array.from({ length: 6 }, () => poll(deviceCode)));

    const given = answers.flatMap((answer) => (typeof answer === 'object' ? [answer.secret] : []));
    expect(given).toHaveLength(1);
    expect(answers.filter((answer) => answer === 'invalid_grant')).toHaveLength(5);
    expect(await sessions.find(given[0] as string)).toMatchObject({ userId: ann.id });
    expect(await started()).toBe(before + 1);
  });

  it('still gives its session when the poll before was killed half-way', async () => {
    const { deviceCode } = await allowed();
    const before = await started();
    const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    const holder = await database.pool.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM session FOR UPDATE');

    const killed = poll(deviceCode).catch(() => 'killed');
    await waitFor('the poll to wait for the lock', async () => (await database.pool.query(waiting)).rowCount === 1);
    await database.pool.query(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS polls`);
    expect(await killed).toBe('killed');
    await holder.query('ROLLBACK');
    holder.release();

    expect(await poll(deviceCode)).toMatchObject({ secret: expect.any(String) });
    expect(await started()).toBe(before + 1);
  });

  it('gives nothing once the session that allowed it has ended', async () => {
    const { deviceCode } = await allowed();
    await sessions.revoke(browser);

    expect(await poll(deviceCode)).toBe('expired_token');
    expect(await poll(deviceCode)).toBe('invalid_grant');
  });

  it('is stored as its digest', async () => {
    const { deviceCode } = await devices.begin(device);

    const { rows } = await database.pool.query('SELECT d::text AS row FROM device_sign_in d');

    expect(JSON.stringify(rows)).toContain(createHash('sha256').update(deviceCode).digest('hex'));
    expect(JSON.stringify(rows)).not.toContain(deviceCode);
  });
});

describe('a user code', () => {
  it('is decided by the first of two people, and then known no more', async () => {
    const { deviceCode, userCode } = await devices.begin(device);
    expect(await devices.find(userCode)).toMatchObject(device);

    const [refused, late] = [await decide(userCode, false), await decide(userCode)];

    expect(refused).toMatchObject(device);
    expect([late, await devices.find(userCode), await poll(deviceCode)]).toEqual([null, null, 'access_denied']);
  });

  it('is known no more after its end', async () => {
    const { deviceCode, userCode } = await devices.begin(device);
    await database.pool.query('UPDATE device_sign_in SET expires_at = now() WHERE user_code = $1', [userCode]);

    expect([await devices.find(userCode), await decide(userCode), await poll(deviceCode)]).toEqual([
      null,
      null,
      'expired_token',
    ]);
  });
});
