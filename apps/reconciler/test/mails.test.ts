import { type MailSink, startMailSink } from '@corral/local-cloud';
import { createMetrics } from '@corral/service';
import { deleteRows, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connectMailServer } from '../src/mail/connect-mail-server.js';
import { buildMailWorkers, mailStore } from '../src/mail/send-mails.js';
import type { Services } from '../src/services.js';
import { type ClusterRows, openClusterRows } from './support/cluster-rows.js';
import { only } from './support/only.js';

let at: ClusterRows;
let sink: MailSink;
let teamId: string;
let inviterId: string;
const said: string[] = [];
const say = (...parts: unknown[]) => void said.push(JSON.stringify(parts));
const log = { error: say, warn: say, info: say, debug: say, child: () => log } as never;

beforeAll(async () => {
  at = await openClusterRows();
});
afterAll(() => at.close());
beforeEach(async () => {
  await deleteRows(at.pool);
  const team = await at.pool.query(`INSERT INTO team (slug, name) VALUES ('rockets', 'Röckets & "Co"') RETURNING id`);
  const user = await at.pool.query(
    `INSERT INTO app_user (email, display_name) VALUES ('bob@acme.test', 'Bob') RETURNING id`,
  );
  [teamId, inviterId] = [team.rows[0].id, user.rows[0].id];
  sink = await startMailSink('127.0.0.1', 0);
});
afterEach(async () => {
  await sink.close();
  said.length = 0;
});

const PASSWORD = 'hunter2-hunter2';
const workers = ({ port = sink.port, timeoutMs = 20_000 } = {}) =>
  buildMailWorkers(only<Services>({ prisma: at.prisma, metrics: createMetrics({ service: 't' }), log }), {
    settings: { place: { kind: 'console', url: 'https://console.test' } },
    mailServer: connectMailServer({
      url: `smtp://corral:${PASSWORD}@127.0.0.1:${port}`,
      from: 'Corral <corral@corral.test>',
      timeoutMs,
    }),
  });
const send = (options?: Parameters<typeof workers>[0]) => workers(options).sendMails(new AbortController().signal);

/** An invitation whose mail has been due for a minute, unless `columns` differ. */
async function invite(email: string, columns = ''): Promise<string> {
  const { rows } = await at.pool.query(
    `INSERT INTO invitation (team_id, email, role, invited_by, expires_at, mail_due_at)
     VALUES ($1, $2, 'member', $3, now() + interval '14 days', now() - interval '1 minute') RETURNING id`,
    [teamId, email, inviterId],
  );
  const { id } = rows[0];
  if (columns !== '') await at.pool.query(`UPDATE invitation SET ${columns} WHERE id = $1`, [id]);
  return id;
}
const rowOf = async (id: string) =>
  (
    await at.pool.query(
      `SELECT mail_sent_at AS "sentAt", mail_failures AS failures, mail_due_at IS NULL AS "isDone",
              round(extract(epoch FROM mail_due_at - now()))::int AS "dueInSeconds"
       FROM invitation WHERE id = $1`,
      [id],
    )
  ).rows[0];
const dueNow = (id: string) =>
  at.pool.query(`UPDATE invitation SET mail_due_at = now() - interval '1 s' WHERE id = $1`, [id]);

describe('a due mail', () => {
  it('is sent once and only to the invited address, with the names unchanged', async () => {
    const id = await invite('ada@acme.test');

    expect([await send(), await send()]).toEqual([1, 0]);

    expect(sink.mails()).toEqual([
      expect.objectContaining({
        from: '"Corral" <corral@corral.test>',
        to: 'ada@acme.test',
        recipients: ['ada@acme.test'],
        subject: 'Invitation to the team Röckets & "Co"',
        text: expect.stringContaining(`https://console.test/invitations/${id}/`),
        html: expect.stringContaining('Röckets &amp; &quot;Co&quot;'),
        messageId: expect.stringMatching(new RegExp(`^<${id}\\.\\d+@corral\\.test>$`)),
      }),
    ]);
    expect(await rowOf(id)).toMatchObject({ sentAt: expect.any(Date), failures: 0, isDone: true });
  });

  it('is sent once by concurrent processes', async () => {
    for (const name of 'abcdefghijkl') await invite(`${name}@acme.test`);

    await Promise.all([send(), send(), send()]);

    expect(
      sink
        .mails()
        .map(({ to }) => to)
        .sort(),
    ).toEqual([...'abcdefghijkl'].map((name) => `${name}@acme.test`));
  });

  it('contains no header injected through a name', async () => {
    const headersOf = async (name: string) => {
      sink.clear();
      await at.pool.query('UPDATE app_user SET display_name = $2 WHERE id = $1', [inviterId, name]);
      await at.pool.query('UPDATE team SET name = $2 WHERE id = $1', [teamId, name]);
      await dueNow(await invite(`x${Math.random()}@acme.test`));
      await send();
      return sink.mails().map(({ headerNames, recipients }) => [headerNames, recipients.length]);
    };

    const plain = await headersOf('Rockets');
    expect(await headersOf('Rockets\r\nBcc: all@acme.test\r\n\r\nspam')).toEqual(plain);
    expect(plain).toEqual([[expect.arrayContaining(['subject', 'to', 'auto-submitted']), 1]]);
  });

  it('is not sent for an accepted, revoked or expired invitation', async () => {
    const ids = [
      await invite('a@acme.test', 'accepted_at = now()'),
      await invite('b@acme.test', 'revoked_at = now()'),
      await invite('c@acme.test', "expires_at = now() - interval '1 second', mail_failures = 7"),
    ];

    expect(await send()).toBe(0);

    expect(sink.mails()).toEqual([]);
    for (const id of ids) expect(await rowOf(id)).toMatchObject({ isDone: true, sentAt: null });
  });
});

describe('a failed mail', () => {
  it('is retried later, and sent then', async () => {
    const id = await invite('ada@acme.test');
    sink.breakNext({ effect: { code: 451 }, times: 1 });

    await send();
    const { failures, dueInSeconds, sentAt } = await rowOf(id);
    expect([failures, sentAt]).toEqual([1, null]);
    expect(dueInSeconds).toBeGreaterThanOrEqual(5);
    expect(dueInSeconds).toBeLessThanOrEqual(12);
    expect(await send()).toBe(0);
    await dueNow(id);
    await send();

    expect(sink.mails()).toHaveLength(1);
    expect(await rowOf(id)).toMatchObject({ isDone: true, failures: 0, sentAt: expect.any(Date) });
  });

  it('is retried hours later after a permanent rejection', async () => {
    const id = await invite('nobody@acme.test');
    sink.breakNext({ effect: { code: 550 }, times: 1 });

    await send();

    expect((await rowOf(id)).dueInSeconds).toBeGreaterThan(5 * 3_600);
  });

  it('is logged without password and address', async () => {
    const id = await invite('ada@acme.test');
    sink.breakNext({ effect: { code: 451 }, times: 1 });

    await send();

    expect(said.join('\n')).toContain(id);
    expect(said.join('\n')).toContain('451');
    expect(said.join('\n')).not.toMatch(/hunter2|ada@acme/);
  });
});

describe('no mail is lost', () => {
  it('when the server’s response is lost: the mail is sent twice with the same Message-ID', async () => {
    const id = await invite('ada@acme.test');
    sink.breakNext({ effect: 'hang', times: 1 });

    // Long enough for the mail to arrive, also on a busy machine.
    await send({ timeoutMs: 4_000 });
    await dueNow(id);
    await send();

    const ids = sink.mails().map(({ messageId }) => messageId);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  it('when a process dies while sending: another one sends the mail later', async () => {
    const id = await invite('ada@acme.test');
    const [held] = await mailStore(at.prisma).claimDue(5, 50);
    expect(held?.id).toBe(id);

    await waitFor('another process to send it', async () => (await send()) === 1);

    expect(sink.mails()).toHaveLength(1);
  });

  it('when an invitation is renewed while its mail is sent: another mail becomes due', async () => {
    const id = await invite('ada@acme.test');
    const store = mailStore(at.prisma);
    const [held] = await store.claimDue(5, 60_000);
    await dueNow(id);

    await store.recordSent(held as never);
    await store.recordFailure(held as never, 60_000);

    expect(await rowOf(id)).toMatchObject({ sentAt: null, failures: 0, isDone: false });
    expect(await send()).toBe(1);
  });
});
