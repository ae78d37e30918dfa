import { randomBytes } from 'node:crypto';
import { type MailSink, startMailSink } from '@corral/local-cloud';
import { createMetrics, silentLog } from '@corral/service';
import { deleteRows } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connectMailServer } from '../src/mail/connect-mail-server.js';
import { buildMailWorkers } from '../src/mail/send-mails.js';
import type { Services } from '../src/services.js';
import { type ClusterRows, openClusterRows, type TestTeam } from './support/cluster-rows.js';
import { only } from './support/only.js';

let at: ClusterRows;
let sink: MailSink;
let acme: TestTeam;
let ada: string;
let grace: string;

beforeAll(async () => {
  at = await openClusterRows();
});
afterAll(() => at.close());
beforeEach(async () => {
  await deleteRows(at.pool);
  acme = await at.addTeam('acme');
  ada = await addPerson('ada', 'admin');
  grace = await addPerson('grace', 'member');
  sink = await startMailSink('127.0.0.1', 0);
});
afterEach(() => sink.close());

async function addPerson(name: string, role: string): Promise<string> {
  const { rows } = await at.pool.query(
    `WITH person AS (INSERT INTO app_user (email, display_name) VALUES ($1 || '@acme.test', $1) RETURNING id)
     INSERT INTO membership (team_id, user_id, role) SELECT $2, id, $3::team_role FROM person RETURNING user_id AS id`,
    [name, acme.id, role],
  );
  return rows[0].id;
}
async function addToken(name: string, endsInDays: number, by: string | null, livesForDays = 90) {
  await at.pool.query(
    `INSERT INTO dns_token (team_id, name, hash, scopes, created_by, created_at, expires_at)
     VALUES ($1, $2, $3, '{dns}', $4, now() + make_interval(days => $5::int - $6::int), now() + make_interval(days => $5::int, mins => 1))`,
    [acme.id, name, randomBytes(32), by, endsInDays, livesForDays],
  );
}
async function failOperation(by: string | null, name = 'web') {
  const connection = await at.addConnection(acme, `k-${name}`);
  const { operationId } = await at.declare(acme, connection, { name });
  await at.pool.query(
    `UPDATE operation SET state = 'failed', finished_at = clock_timestamp(), created_by = $2,
            error = '{"code": "quota", "message": "The project has no server left."}' WHERE id = $1`,
    [operationId, by],
  );
}

const workers = (timeoutMs = 20_000) =>
  buildMailWorkers(only<Services>({ prisma: at.prisma, metrics: createMetrics({ service: 't' }), log: silentLog }), {
    settings: { place: { kind: 'console', url: 'https://console.test' } },
    mailServer: connectMailServer({ url: `smtp://127.0.0.1:${sink.port}`, from: 'corral@corral.test', timeoutMs }),
  });
const send = () => workers().sendMails(new AbortController().signal);
const findAndSend = async () => {
  await workers().findNotifications();
  await send();
};
const dueNow = () => at.pool.query(`UPDATE notification SET mail_due_at = now() WHERE mail_due_at IS NOT NULL`);
const mails = () => sink.mails().map(({ to, text }) => `${to}: ${text}`);

describe('what needs attention', () => {
  it('is told in one mail, once, to its author, and to the administrators where there is none', async () => {
    await failOperation(grace, 'web');
    await failOperation(null, 'api');
    await addToken('lego', 3, grace);
    await at.pool.query(`UPDATE connection SET phase = 'Rejected' WHERE ref = 'k-api'`);

    await findAndSend();
    await findAndSend();

    expect(mails().sort()).toEqual([
      expect.stringMatching(/^ada@[\s\S]*operation on api has failed[\s\S]*rejects the token of the connection k-api/),
      expect.stringMatching(/^grace@[\s\S]*DNS token lego ends on[\s\S]*operation on web has failed: .*no server left/),
    ]);
    expect(sink.mails().map(({ subject }) => subject)).toEqual(Array(2).fill('2 things need attention in acme'));
  });

  it('is told to administrators when its author has left', async () => {
    await failOperation(grace);
    await at.pool.query('DELETE FROM membership WHERE user_id = $1', [grace]);

    await findAndSend();

    expect(sink.mails()).toMatchObject([
      { to: 'ada@acme.test', subject: expect.stringContaining('acme: An operation on web has failed') },
    ]);
  });

  it('is not told to those who do not want it', async () => {
    await failOperation(ada);
    await addToken('lego', 3, ada);
    await at.pool.query(`UPDATE app_user SET muted_notifications = '{failed_operations}'`);

    await findAndSend();

    expect(mails()).toEqual([expect.stringContaining('DNS token lego ends on')]);
  });

  it('includes record sets that end soon, and versions whose support ends', async () => {
    await at.pool.query(
      `WITH zone AS (INSERT INTO dns_zone (id, name, body, synced_at) VALUES (1, 'example.test', '{}', now()) RETURNING id)
       INSERT INTO dns_audit_entry (team_id, zone_id, name, type, operation, actor, state, completed_at)
       SELECT $1, id, 'old.acme', 'A', 'remind', 'service', 'completed', now() FROM zone`,
      [acme.id],
    );
    const { id } = await at.declare(acme, await at.addConnection(acme), { name: 'web' });
    await at.pool.query(
      `UPDATE cluster SET observed = jsonb_build_object('kubernetes', jsonb_build_object('version', '1.31.4', 'supportedUntil',
              to_char(now() + interval '20 days', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) WHERE id = $1`,
      [id],
    );

    await findAndSend();

    expect(mails()).toEqual([
      expect.stringMatching(
        /record set old\.acme A ends soon[\s\S]*Kubernetes 1\.31\.4 of the cluster web is supported until/,
      ),
    ]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a token that ends in weeks', () => addToken('later', 30, ada)],
    ['a token that lives for days only', () => addToken('short', 1, ada, 2)],
    ['a token that has ended', () => addToken('over', -1, ada)],
    [
      'an operation that failed days ago',
      async () => {
        await failOperation(ada);
        await at.pool.query(`ALTER TABLE operation DISABLE TRIGGER USER`);
        await at.pool.query(`UPDATE operation SET finished_at = now() - interval '2 days'`);
        await at.pool.query(`ALTER TABLE operation ENABLE TRIGGER USER`);
      },
    ],
  ])('does not include %s', async (_what, given) => {
    await given();

    await findAndSend();

    expect(mails()).toEqual([]);
  });
});

describe('a mail with notifications', () => {
  it('that was not taken is sent later, with the same Message-ID after a lost answer', async () => {
    await failOperation(ada);
    sink.breakNext({ effect: { code: 451 }, times: 1 });
    await findAndSend();
    expect(mails()).toEqual([]);
    expect(await send()).toBe(0);

    sink.breakNext({ effect: 'hang', times: 1 });
    await dueNow();
    await workers(4_000).sendMails(new AbortController().signal);
    await dueNow();
    await send();

    expect(new Set(sink.mails().map(({ messageId }) => messageId)).size).toBe(1);
    expect(sink.mails()).toHaveLength(2);
    expect(await send()).toBe(0);
  });

  it.each([
    ['has left the team', 'DELETE FROM membership WHERE user_id = $1'],
    ['has muted its kind', `UPDATE app_user SET muted_notifications = '{failed_operations}' WHERE id = $1`],
  ])('is not sent to somebody who %s since', async (_what, sql) => {
    await failOperation(grace);
    sink.breakNext({ effect: { code: 451 }, times: 1 });
    await findAndSend();
    await at.pool.query(sql, [grace]);
    await dueNow();

    await send();

    expect(mails()).toEqual([]);
  });
});
