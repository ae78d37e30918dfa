import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin, ZONE } from './support/start-admin.js';

let admin: TestAdmin;
beforeAll(async () => {
  admin = await startAdmin();
});
afterAll(() => admin.stop());
beforeEach(() => admin.empty());

const TAKEN_AT = '2026-01-01T00:00:00Z';

interface Report {
  readonly hold: { readonly id: string };
  readonly findings: readonly { readonly kind: string; readonly name: string; readonly finding: string }[];
  readonly missing: readonly string[];
  readonly isComplete: boolean;
}
const readReport = () => admin.json<Report>('hold', 'report');

/** One started cluster and one adopted server of a team. */
async function addTeam(): Promise<{ clusterId: string; serverRowId: string }> {
  const { rows } = await admin.pool.query<{ clusterId: string; serverRowId: string }>(
    `WITH team AS (INSERT INTO team (slug) VALUES ('acme') RETURNING id
     ), connection AS (
       INSERT INTO connection (team_id, ref, name, provider, provider_config, sealed_token, token_key_id, phase)
       SELECT id, 'main', 'main', 'hcloud', '{}', $1, 'k1', 'Ready' FROM team RETURNING id, team_id
     ), cluster AS (
       INSERT INTO cluster (team_id, connection_id, name, spec, desired_hash, started_at, generation)
       SELECT team_id, id, 'web', '{}', 'h', now(), 3 FROM connection RETURNING id
     ), server AS (
       INSERT INTO adopted_server (team_id, connection_id, server_id, server_type, location, architecture, server_kind, phase)
       SELECT team_id, id, 42, 'cpx31', 'fsn1', 'amd64', 'cloud', 'Ready' FROM connection RETURNING id
     )
     SELECT cluster.id AS "clusterId", server.id AS "serverRowId" FROM cluster, server`,
    [randomBytes(40)],
  );
  return rows[0] as { clusterId: string; serverRowId: string };
}

/** As a reconciler does. */
const note = (kind: string, targetId: string, finding: string) =>
  admin.pool.query(
    `INSERT INTO hold_finding (hold_id, target_kind, target_id, finding, message)
     SELECT id, $1, $2, $3, 'why' FROM installation_hold WHERE ended_at IS NULL`,
    [kind, targetId, finding],
  );

describe('a hold', () => {
  it('begins once, is shown, and ends with its id', async () => {
    const { id } = await admin.json<{ id: string }>('hold', 'begin');

    expect(await admin.run('hold', 'begin')).toMatchObject({
      code: 1,
      err: expect.stringContaining('in force already'),
    });
    expect((await admin.run('hold', 'status')).out).toContain(id);
    expect(await admin.run('resume', 'another')).toMatchObject({ code: 1, err: expect.stringContaining(id) });
    expect(await admin.run('resume', id)).toMatchObject({ code: 0 });
    expect((await admin.run('hold', 'status')).out).toContain('No hold');
    expect(await admin.run('hold', 'report')).toMatchObject({ code: 1, err: expect.stringContaining('No hold') });
  });

  it('makes every cluster and server due, so that they are read', async () => {
    await addTeam();

    await admin.json('hold', 'begin');

    const { rows } = await admin.pool.query(
      `SELECT (SELECT due_at IS NOT NULL FROM cluster) AS cluster, (SELECT due_at IS NOT NULL FROM adopted_server) AS server`,
    );
    expect(rows).toEqual([{ cluster: true, server: true }]);
  });

  it('of a database that was restored otherwise ends sessions and gives no number twice', async () => {
    await addTeam();
    const next = async () =>
      (await admin.pool.query<{ next: number }>("SELECT nextval('audit_entry_id_seq') AS next")).rows[0]?.next ?? 0;
    const before = await next();

    await admin.json('hold', 'begin', '--restored-from', TAKEN_AT);

    expect(await next()).toBeGreaterThan(before + 1_000);
    expect((await admin.pool.query('SELECT 1 FROM team_event')).rowCount).toBe(0);
  });

  it.each(['tomorrow', '2999-01-01T00:00:00Z', ''])('refuses %p as the time of the backup', async (time) => {
    expect(await admin.run('hold', 'begin', '--restored-from', time)).toMatchObject({ code: 2 });
  });
});

describe('the end of a hold after a restore', () => {
  it('is refused until everything was read', async () => {
    await addTeam();
    await admin.pool.query(`INSERT INTO dns_zone (id, name, body, synced_at) VALUES (7, '${ZONE}', '{}', now())`);
    const { id } = await admin.json<{ id: string }>('hold', 'begin', '--restored-from', TAKEN_AT);

    const report = await readReport();

    expect(report.isComplete).toBe(false);
    expect(report.missing).toHaveLength(4);
    expect(await admin.run('resume', id)).toMatchObject({ code: 1, err: expect.stringContaining('incomplete') });
  });

  it('is refused while a comparison has left record sets out', async () => {
    await admin.pool.query(`INSERT INTO dns_zone (id, name, body, synced_at) VALUES (8, '${ZONE}', '{}', now())
      ON CONFLICT DO NOTHING`);
    await admin.json('hold', 'begin', '--restored-from', TAKEN_AT);
    const sync = (skipped: number, added: number) =>
      admin.pool.query(
        `INSERT INTO dns_sync_run (zone_name, reason, state, skipped, added, started_at)
         VALUES ($1, 'schedule', 'succeeded', $2, $3, clock_timestamp())`,
        [ZONE, skipped, added],
      );

    await sync(4, 2);
    const early = await readReport();
    await sync(0, 1);
    const late = await readReport();

    expect(early.missing).toEqual([expect.stringContaining('left out')]);
    expect(late).toMatchObject({ isComplete: true, syncs: [{ skipped: 0, added: 3 }] });
  });

  it('keeps clusters that are ahead, fails servers that were rebuilt, and lets others continue', async () => {
    const { clusterId, serverRowId } = await addTeam();
    const { id } = await admin.json<{ id: string }>('hold', 'begin', '--restored-from', TAKEN_AT);
    await note('Cluster', clusterId, 'shoot_ahead');
    await note('AdoptedServer', serverRowId, 'rebuilt_since');
    await note('Shoot', 'garden-x/cunknown', 'unknown_shoot');
    await note('Garden', 'shoots', 'as_recorded');

    const { findings, isComplete } = await readReport();
    const text = (await admin.run('hold', 'report')).out;
    const ended = await admin.json('resume', id);

    expect(isComplete).toBe(true);
    expect(findings.map(({ finding }) => finding).sort()).toEqual(['rebuilt_since', 'shoot_ahead', 'unknown_shoot']);
    expect(text).toContain('garden-x/cunknown');
    expect(ended).toEqual({ keptClusters: 1, failedServers: 1, unreadServers: 0 });
    const { rows } = await admin.pool.query('SELECT kept_generation FROM cluster');
    expect(rows).toMatchObject([{ kept_generation: 3 }]);
    expect((await admin.pool.query("SELECT 1 FROM adopted_server WHERE phase = 'Failed'")).rowCount).toBe(1);
  });

  it('leaves what was not read as it is, if an operator insists', async () => {
    await addTeam();
    const { id } = await admin.json<{ id: string }>('hold', 'begin', '--restored-from', TAKEN_AT);

    const before = await admin.pool.query('SELECT phase, generation FROM adopted_server');
    expect(await admin.json('resume', id, '--incomplete')).toEqual({
      keptClusters: 1,
      failedServers: 0,
      unreadServers: 1,
    });
    expect((await admin.pool.query('SELECT phase, generation FROM adopted_server')).rows).toEqual(before.rows);
    expect((await admin.pool.query('SELECT unread_hold_id FROM adopted_server')).rows).toEqual([
      { unread_hold_id: id },
    ]);
    expect(await admin.run('resume', id, '--incomplete')).toMatchObject({
      code: 1,
      err: expect.stringContaining('No hold is in force'),
    });
  });

  it('changes nothing of what is as recorded', async () => {
    const { clusterId, serverRowId } = await addTeam();
    const { id } = await admin.json<{ id: string }>('hold', 'begin', '--restored-from', TAKEN_AT);
    await note('Cluster', clusterId, 'as_recorded');
    await note('AdoptedServer', serverRowId, 'to_be_changed');
    await note('Garden', 'shoots', 'as_recorded');

    expect(await admin.json('resume', id)).toEqual({ keptClusters: 0, failedServers: 0, unreadServers: 0 });
  });

  it('lets an operator release a kept cluster', async () => {
    const { clusterId } = await addTeam();
    await admin.pool.query('UPDATE cluster SET kept_generation = 3 WHERE id = $1', [clusterId]);

    expect(await admin.run('hold', 'release', 'acme', 'web')).toMatchObject({ code: 0 });
    expect(await admin.run('hold', 'release', 'acme', 'web')).toMatchObject({ code: 1 });
  });
});
