import type { UpstreamWrite, WriteOutcome } from '@corral/hcloud';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Deletion, deleteRemaining, type RemainingRrset } from '../../src/index.js';
import { bodyOf, type MirrorDatabase, openMirrorDatabase, ZONE_ID } from '../mirror-database.js';

const BY = { tokenId: null, requestId: null, account: 'expiry' };
const left = (demoId: string): RemainingRrset => ({
  owner: { kind: 'demo', id: demoId, teamId: null },
  key: { zoneId: ZONE_ID, name: 'www.shop', type: 'A' },
});

let database: MirrorDatabase;
let demoId: string;
beforeAll(async () => {
  database = await openMirrorDatabase();
  const { rows } = await database.pool.query<{ id: string }>(
    `WITH course AS (
       INSERT INTO course_code (code, hash, live_demos_max) VALUES ('WORKSHOP', sha256('WORKSHOP'), 20) RETURNING id
     )
     INSERT INTO demo (zone_id, label, name, course_code_id, ttl_seconds, expires_at, ended_at, clear_at)
     SELECT $1, 'shop', 'Shop', id, 300, now(), now(), now() FROM course RETURNING id`,
    [ZONE_ID],
  );
  demoId = rows[0]?.id as string;
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.pool.query('TRUNCATE dns_action, dns_audit_entry, dns_rrset');
  await database.pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body) VALUES ($1, 'www.shop', 'A', 'shop', 1, $2)`,
    [ZONE_ID, bodyOf('www.shop', 1)],
  );
});

const sent: UpstreamWrite[] = [];
const deleting = (outcome: WriteOutcome): Promise<Deletion> => {
  sent.length = 0;
  const ledger = database.ledger({ replayMs: 0 });
  const send = async (write: UpstreamWrite) => {
    sent.push(write);
    return outcome;
  };
  return deleteRemaining({ ledger, send, pause: async () => undefined, settleAfterMs: 2_000 }, left(demoId), BY);
};
const acceptedWith = (status: string): WriteOutcome => ({
  kind: 'accepted',
  status: 201,
  body: JSON.stringify({ action: { id: 880_001, status } }),
});
const stateOfEntry = async (): Promise<string | undefined> => {
  const { rows } = await database.pool.query<{ state: string }>('SELECT state::text FROM dns_audit_entry');
  return rows[0]?.state;
};
const isMirrored = async (): Promise<boolean> => (await database.pool.query('SELECT FROM dns_rrset')).rowCount === 1;

describe('the deletion of a set left behind by an ended demo', () => {
  it.each<[string, WriteOutcome, Deletion, string, boolean]>([
    ['accepted', acceptedWith('running'), { kind: 'deleted' }, 'completed', false],
    ['accepted, but failed immediately', acceptedWith('error'), { kind: 'refused' }, 'completed', true],
    ['refused', { kind: 'refused', status: 423, code: 'protected', body: '{}' }, { kind: 'refused' }, 'refused', true],
    [
      'failed',
      { kind: 'failed', status: 503, code: 'unavailable', body: '{}' },
      { kind: 'uncertain' },
      'pending',
      true,
    ],
    ['lost', { kind: 'uncertain', reason: 'time over' }, { kind: 'uncertain' }, 'pending', true],
    ['never sent', { kind: 'unreached', reason: 'no connection' }, { kind: 'away' }, 'unsent', true],
    [
      'sent with a bad token',
      { kind: 'credentials_refused', status: 401, code: 'x' },
      { kind: 'away' },
      'unsent',
      true,
    ],
    ['without an account of the budget', { kind: 'no_account' }, { kind: 'away' }, 'unsent', true],
    [
      'without budget',
      { kind: 'throttled', retryAfterSeconds: 7, resetAt: new Date(), usedUp: 'share' },
      { kind: 'throttled', retryAfterSeconds: 7 },
      'unsent',
      true,
    ],
  ])('that was %s returns the matching result', async (_what, outcome, deletion, state, mirrored) => {
    expect(await deleting(outcome)).toEqual(deletion);

    expect([await stateOfEntry(), await isMirrored()]).toEqual([state, mirrored]);
    expect(sent).toEqual([
      { team: 'expiry', method: 'DELETE', body: null, segments: ['zones', String(ZONE_ID), 'rrsets', 'www.shop', 'A'] },
    ]);
  });

  it('reports busy while another write to the set is pending', async () => {
    await deleting({ kind: 'uncertain', reason: 'time over' });

    expect(await deleting(acceptedWith('running'))).toEqual({ kind: 'busy' });
    expect(sent).toEqual([]);
  });

  it('makes no call when the set is already gone', async () => {
    await database.pool.query('DELETE FROM dns_rrset');

    expect(await deleting(acceptedWith('running'))).toEqual({ kind: 'deleted' });
    expect([sent, await stateOfEntry()]).toEqual([[], 'unsent']);
  });

  it('goes on while the team of the demo is suspended', async () => {
    await database.pool.query(
      `WITH suspended AS (INSERT INTO team (slug, suspended_at) VALUES ('acme', now()) RETURNING id)
       UPDATE demo SET team_id = suspended.id, course_code_id = NULL FROM suspended WHERE demo.id = $1`,
      [demoId],
    );

    expect(await deleting(acceptedWith('success'))).toEqual({ kind: 'deleted' });
  });
});
