import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sharedStore } from '@corral/admission';
import { connectPrisma, type Prisma } from '@corral/database';
import { type SyncLease, syncRunStore, zoneSyncStore } from '@corral/dns-data';
import { prepareQueue, type StartedWorker, startWorker } from '@corral/queue';
import { KeyRing } from '@corral/secrets';
import { silentLog } from '@corral/service';
import { createEmptyDatabase, patientTransactions, type RunningProcess, startProcess } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin, ZONE } from './support/start-admin.js';

let admin: TestAdmin;

beforeAll(async () => {
  admin = await startAdmin();
});

afterAll(() => admin.stop());

describe('upkeep', () => {
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

  it('upstream show shows who waits and since when, how far each team is ahead, and what is promised', async () => {
    const { id: acme } = await admin.json<{ id: string }>('team', 'create', 'acme');
    const { id: globex } = await admin.json<{ id: string }>('team', 'create', 'globex');
    const store = sharedStore(connectPrisma(admin.pool));
    const callAt = (ago: number) => (_state: unknown, clock: number) => {
      const now = clock - ago;
      const waiting = [{ class: 'write', flow: acme, count: 3, since: now - 60_000 }] as const;
      const state = {
        ...{
          form: 5 as const,
          at: now,
          limit: 3_600,
          pausedUntil: 0,
          refusals: 0,
          ended: 0,
        },
        buckets: { common: 0, cleanup: 0, poll: 0, settle: 0, recheck: 0, sync: 0 },
        round: 7,
        askedAt: {},
        next: { [globex]: 12, '~poll': 8 },
        promises: [{ flow: globex, dueAt: now + 120_000 }],
        processes: { p: { seenAt: now + 60_000, out: 0, waiting } },
      } as const;
      return { state, answer: null };
    };
    await store.update('project', callAt(0));
    await store.update('project of a token that was replaced', callAt(1_200_000));

    const [project, ...others] = (await admin.json<Shown>('upstream', 'show')).projects;
    const { out } = await admin.run('upstream', 'show');

    expect(others).toEqual([]);
    expect(project?.flows.map(({ team, name, waiting }) => [team, name, waiting])).toEqual([
      ['acme', 'acme', 3],
      ['globex', 'globex', 0],
      [null, 'poll', 0],
    ]);
    expect(project?.flows.map(({ ahead }) => ahead)).toEqual([0, 5, 1]);
    expect(project?.flows.map(({ promisedAt }) => promisedAt.length)).toEqual([0, 1, 0]);
    expect(out).toMatch(/FOR +WAITING +SINCE +AHEAD +NEXT PROMISED +PROMISED\nacme +3 +20\S+Z +0 +- +0\nglobex +0 +- /);
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
});

describe('zone', () => {
  const ZONE_ID = 7001;
  let prisma: Prisma;
  beforeAll(() => {
    prisma = connectPrisma(admin.pool, patientTransactions);
  });
  afterAll(() => prisma.$disconnect());
  let worker: StartedWorker | null = null;
  beforeEach(async () => {
    await admin.empty();
    await admin.run('team', 'create', 'acme');
    await admin.run('team', 'create', 'big');
  });
  afterEach(async () => {
    await worker?.close();
    worker = null;
  });

  /** Replaces a reconciler: executes the requested run with the given sets for a zone. */
  async function startFakeReconciler(
    sets: [name: string, records: number][],
    { failure, zoneName = ZONE }: { failure?: string; zoneName?: string } = {},
  ): Promise<void> {
    const store = zoneSyncStore(prisma);
    const runs = syncRunStore(prisma);
    const makeRun = async ({ runId = null, reason = 'request' }: { runId?: string | null; reason?: string }) => {
      const lease = (await runs.takeRun(zoneName, reason, runId)) as SyncLease;
      if (failure !== undefined) return runs.failRun(lease, failure);
      await store.saveZone({ id: ZONE_ID, name: zoneName, body: '{}' });
      const found = sets.map(([name, count]) => {
        const records = Array.from({ length: count }, (_, index) => ({ value: `192.0.2.${index}`, comment: '' }));
        return { name, type: 'A', found: JSON.stringify({ ttl: null, labels: {}, records }) };
      });
      const readings = { zoneId: ZONE_ID, readAt: await store.readClock(), sets: found };
      const position = { nextPage: null, listedTotal: null };
      const step = { readings, seen: found, skipped: 0, position };
      await runs.recordStep(lease, step, { graceMs: 0, purpose: 'import' });
      await runs.finishRun(lease, ZONE_ID);
    };
    worker = startWorker({
      queues: {
        dns: {
          handlers: {
            'settle-writes': async () => undefined,
            'look-up-actions': async () => undefined,
            'expire-demos': async () => undefined,
            'end-rrsets': async () => undefined,
            'clear-demos': async () => undefined,
            'zone-sync': makeRun,
          },
          concurrency: 1,
        },
      },
      databaseUrl: admin.databaseUrl,
      log: silentLog,
    });
    await worker.ready;
  }

  describe('zone sync', () => {
    it('follows the run and reports its result', async () => {
      await startFakeReconciler([['www.acme', 1]]);

      const { code, out } = await admin.run('zone', 'sync');

      expect({ code, out }).toEqual({
        code: 0,
        out: `Zone ${ZONE}: 1 record sets upstream; in the mirror 1 added, 0 changed, 0 removed.\n`,
      });
    });

    it('fails with the reason of the run', async () => {
      await startFakeReconciler([], { failure: 'The upstream DNS API is unavailable: 503 unavailable' });

      expect(await admin.run('zone', 'sync')).toMatchObject({
        code: 1,
        err: expect.stringMatching(/The sync failed\. The upstream DNS API is unavailable/),
      });
    });

    it('reports when no reconciler takes the job', async () => {
      const { code, out, err } = await admin.runWithoutPatience('zone', 'sync');

      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toMatch(/No reconciler took the job within/);
    });
  });

  describe('zone import', () => {
    /** Leaves an unfinished import, like a reconciler that was killed. */
    async function leaveImport(zoneName: string, state: 'running' | 'failed'): Promise<string> {
      const runs = syncRunStore(prisma);
      const lease = (await runs.takeRun(zoneName, 'start', randomUUID())) as SyncLease;
      const readings = { zoneId: ZONE_ID, readAt: new Date(), sets: [] };
      const position = { nextPage: 7, listedTotal: 900 };
      await runs.recordStep(lease, { readings, seen: [], skipped: 0, position }, { graceMs: 0, purpose: 'import' });
      if (state === 'failed') await runs.failRun(lease, 'The upstream DNS API is unavailable.');
      return lease.runId;
    }

    it.each(['running', 'failed'] as const)('continues an interrupted import in state %s', async (state) => {
      const zoneName = `${state}.test`;
      const left = await leaveImport(zoneName, state);
      await startFakeReconciler([['www.acme', 2]], { zoneName });
      const env = { DATABASE_URL: admin.databaseUrl, DNS_ZONE_NAME: zoneName };

      const { code, out } = await admin.runWith(env, '--json', 'zone', 'import');

      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject({ runId: left, zone: zoneName });
      const { rows } = await admin.pool.query('SELECT id, fence FROM dns_sync_run WHERE zone_name = $1', [zoneName]);
      expect(rows).toEqual([{ id: left, fence: 2 }]);
    });

    const zoneOfMany: [name: string, records: number][] = [
      ['www.acme', 2],
      ['mail', 1],
      ['x.later', 1],
      ...Array.from({ length: 5 }, (_, index): [string, number] => [`n${index}.big`, 50]),
    ];

    it('reports owners, teams beyond their quota, and sets without a team', async () => {
      await startFakeReconciler(zoneOfMany);

      const report = await admin.json('zone', 'import');

      expect(report).toMatchObject({
        added: 8,
        teams: [
          { team: 'acme', quota: 200, rrsets: 1, records: 2, isOverQuota: false },
          { team: 'big', quota: 200, rrsets: 5, records: 250, isOverQuota: true },
        ],
        ownerless: [
          { name: 'x.later', type: 'A', records: 1, why: 'no team yet' },
          { name: 'mail', type: 'A', records: 1, why: 'reserved' },
        ],
        ownerlessRrsets: 2,
      });
    });

    it('assigns existing sets to a team created later', async () => {
      await startFakeReconciler(zoneOfMany);
      await admin.run('zone', 'import');
      const created = await admin.run('team', 'create', 'later');
      expect(created.out).toMatch(/It owns existing data of the zone: record sets 1, records 1\./);

      const { out } = await admin.run('zone', 'import');

      expect(out).toMatch(/^later {2}1 {12}1 /m);
      expect(out).toMatch(/These 1 belong to no team/);
      expect(out).toMatch(/^mail {2}A {5}1 {8}reserved/m);
      expect(out).toMatch(/big {4}5 {12}250 {6}over 200: can only remove/);
    });
  });
});

describe('secrets', () => {
  const keyOf = (id: string) => ({ id, bytes: randomBytes(32) });
  const [lost, old, current] = [keyOf('lost'), keyOf('2025'), keyOf('2026')];
  const secretKeys = [current, old].map(({ id, bytes }) => `${id}:${bytes.toString('base64')}`).join(',');
  const ring = new KeyRing([current, old]);

  beforeEach(async () => {
    await admin.empty();
    await admin.run('team', 'create', 'acme');
  });

  const environment = () => ({ DATABASE_URL: admin.databaseUrl, SECRET_KEYS: secretKeys });
  const rotate = (...options: string[]) => admin.runWith(environment(), 'secrets', 'rotate', ...options);
  const rotateAsJson = async () =>
    JSON.parse((await admin.runWith(environment(), '--json', 'secrets', 'rotate')).out) as Record<string, unknown>;

  /** A connection whose token is sealed with a key. */
  async function givenConnection(ref: string, key: ReturnType<typeof keyOf>): Promise<void> {
    const { rows } = await admin.pool.query<{ id: string }>('SELECT gen_random_uuid() AS id');
    const id = rows[0]?.id as string;
    const { bytes } = new KeyRing([key]).seal(`token of ${ref}`, id);
    await admin.pool.query(
      `INSERT INTO connection (id, team_id, ref, name, provider, provider_config, sealed_token, token_key_id)
     SELECT $1, id, $2, $2, 'hcloud', '{}', $3, $4 FROM team WHERE slug = 'acme'`,
      [id, ref, bytes, key.id],
    );
  }

  async function tokenOf(ref: string): Promise<[keyId: string, token: string, version: number]> {
    const { rows } = await admin.pool.query('SELECT * FROM connection WHERE ref = $1', [ref]);
    const { id, sealed_token: bytes, token_key_id: keyId, token_version: version } = rows[0];
    return [keyId, ring.open({ keyId, bytes }, id), version];
  }

  /** A webhook whose secret is sealed with a key. */
  async function givenWebhook(key: ReturnType<typeof keyOf>): Promise<void> {
    const id = randomUUID();
    await admin.pool.query(
      `WITH person AS (INSERT INTO app_user (email) VALUES ('ann@acme.test') RETURNING id)
       INSERT INTO webhook (id, team_id, name, url, kinds, sealed_secrets, secrets_key_id, position_xid, position_id, position_at,
                            due_at, created_by)
       SELECT $1, team.id, 'chat', 'https://hooks.test', '{}', $2, $3, 0, 0, now(), now(), person.id FROM team, person
       WHERE slug = 'acme'`,
      [id, new KeyRing([key]).seal('secret of a webhook', id).bytes, key.id],
    );
  }

  describe('secrets rotate', () => {
    it('seals tokens and secrets of older keys with the newest, without changing the token version', async () => {
      await givenConnection('older', old);
      await givenConnection('newer', current);
      await givenWebhook(old);

      expect(await rotateAsJson()).toEqual({
        rotated: 2,
        unreadable: [],
        keys: [
          { id: '2026', secrets: 3, state: 'newest' },
          { id: '2025', secrets: 0, state: 'unused' },
        ],
      });

      expect(await tokenOf('older')).toEqual(['2026', 'token of older', 1]);
      expect(await tokenOf('newer')).toEqual(['2026', 'token of newer', 1]);
      const [{ id, sealed_secrets: bytes, secrets_key_id: keyId }] = (await admin.pool.query('SELECT * FROM webhook'))
        .rows;
      expect([keyId, ring.open({ keyId, bytes }, id)]).toEqual(['2026', 'secret of a webhook']);
    });

    it('skips secrets that cannot be decrypted, and names them without a token', async () => {
      await givenConnection('older', old);
      await givenConnection('gone', lost);
      await givenConnection('oldest', old);

      expect(await rotateAsJson()).toEqual({
        rotated: 2,
        unreadable: ['acme/gone'],
        keys: [
          { id: '2026', secrets: 2, state: 'newest' },
          { id: '2025', secrets: 0, state: 'unused' },
          { id: 'lost', secrets: 1, state: 'missing' },
        ],
      });
      expect((await rotate('--batch-size', '1')).out).toContain('need a new token or their old key: acme/gone');
      expect((await rotate('--check')).err).toBe(
        'Encrypted with a missing key: 1. Add it to SECRET_KEYS, or ask the teams to enter these tokens again, and to replace these secrets of webhooks.\n',
      );
    });

    it('only checks with --check, and fails until all are sealed with the newest key', async () => {
      await givenConnection('older', old);

      const before = await rotate('--check');
      expect([before.code, before.err]).toEqual([
        1,
        'Not encrypted with the newest key: 1. Run `secrets rotate` to re-encrypt them.\n',
      ]);
      expect(before.out).toMatch(/2025 +1 +in use/);
      expect(await tokenOf('older')).toEqual(['2025', 'token of older', 1]);

      await rotate();
      const after = await rotate('--check');
      expect([after.code, after.err]).toEqual([0, '']);
      expect(after.out).toMatch(/2025 +0 +unused/);
    });

    it('requires the keys, and does not print them', async () => {
      const missing = await admin.run('secrets', 'rotate');
      const wrong = await admin.runWith({ ...environment(), SECRET_KEYS: `${secretKeys}x` }, 'secrets', 'rotate');

      expect([missing.code, wrong.code]).toEqual([1, 1]);
      expect(missing.err).toContain('SECRET_KEYS is missing');
      expect(wrong.err).not.toContain(current.bytes.toString('base64').slice(0, 16));
    });
  });

  describe('a rotation that is killed halfway', () => {
    const program = fileURLToPath(new URL('../dist/main.js', import.meta.url));
    let running: RunningProcess | undefined;
    afterEach(async () => {
      await running?.stop({ timeoutMs: 0 });
    });

    it('loses nothing, and the next one completes it', async () => {
      const refs = ['a', 'b', 'c', 'd'];
      for (const ref of refs) await givenConnection(ref, old);
      const { rows } = await admin.pool.query<{ id: string; ref: string }>(
        'SELECT id, ref FROM connection ORDER BY id',
      );
      const [held, ...rest] = rows.map(({ ref }) => ref).toReversed() as [string, ...string[]];
      const holder = await admin.pool.connect();
      try {
        await holder.query('BEGIN');
        await holder.query('SELECT FROM connection WHERE ref = $1 FOR UPDATE', [held]);
        running = await startProcess({
          command: process.execPath,
          args: [program, 'secrets', 'rotate', '--batch-size', '1'],
          env: environment(),
          readyLine: '3 re-encrypted',
        });
        await running.kill('SIGKILL');
      } finally {
        await holder.query('ROLLBACK');
        holder.release();
      }

      for (const ref of rest) expect(await tokenOf(ref)).toEqual(['2026', `token of ${ref}`, 1]);
      // With both keys everything can be opened, whichever sealed it.
      expect((await tokenOf(held)).slice(1)).toEqual([`token of ${held}`, 1]);
      await rotate();
      for (const ref of refs) expect(await tokenOf(ref)).toEqual(['2026', `token of ${ref}`, 1]);
    });
  });
});

describe('doctor', () => {
  interface Checked {
    readonly check: string;
    readonly state: string;
  }
  beforeEach(async () => {
    await admin.empty();
    await prepareQueue({ databaseUrl: admin.databaseUrl });
  });

  // Roles belong to the server, where others have theirs.
  const run = (...argv: string[]) =>
    admin.runWith({ DATABASE_URL: admin.databaseUrl, DNS_ZONE_NAME: ZONE, DATABASE_ROLE_PREFIX: 'none_' }, ...argv);
  const stateOf = async (check: string): Promise<string | undefined> => {
    const { out } = await run('--json', 'doctor');
    return (JSON.parse(out) as { checks: Checked[] }).checks.find((each) => each.check === check)?.state;
  };

  it('names what does not work, in one line each, and ends with 1', async () => {
    const { code, out, err } = await run('doctor');

    expect(code).toBe(1);
    expect(err).toBe('Not well: services, sync.\n');
    expect(out).toMatch(/^ok +postgres +Postgres \d+\S* takes writes/);
    expect(out).toMatch(/^failed +services +No process is alive of: dns-gateway, reconciler\./m);
    expect(out.trim().split('\n')).toHaveLength(13);
  });

  it('ends with 0 when all is well, and says nothing more then', async () => {
    await admin.pool.query(
      `INSERT INTO service_process (id, service, seen_at)
       VALUES (gen_random_uuid(), 'dns-gateway', now()), (gen_random_uuid(), 'reconciler', now())`,
    );
    await admin.pool.query(
      `INSERT INTO dns_sync_run (zone_name, reason, state, finished_at) VALUES ('${ZONE}', 'start', 'succeeded', now())`,
    );

    expect(await run('doctor', '--quiet')).toMatchObject({ code: 0, out: '', err: '' });
  });

  it('sees an open hold, and a sync that failed', async () => {
    await admin.run('hold', 'begin');
    await admin.pool.query(
      `INSERT INTO dns_sync_run (zone_name, reason, state, finished_at, failure)
       VALUES ('${ZONE}', 'start', 'failed', now(), 'The token is refused.')`,
    );

    expect([await stateOf('hold'), await stateOf('sync')]).toEqual(['warning', 'failed']);
  });

  it('names a queue that is not prepared, and does not prepare it', async () => {
    await admin.pool.query('DROP SCHEMA bullmq CASCADE');

    expect(await stateOf('queue')).toBe('failed');
    expect((await admin.pool.query(`SELECT FROM pg_namespace WHERE nspname = 'bullmq'`)).rowCount).toBe(0);
  });

  it('names an API that does not answer by TLS', async () => {
    const { out } = await run('doctor', '--quiet', '--url', 'https://127.0.0.1:1');

    expect(out).toMatch(/^failed +certificates +https:\/\/127\.0\.0\.1:1 does not answer by TLS: /m);
  });

  it('names a garden that does not answer', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'corral-doctor-')), 'kubeconfig');
    const cluster = { name: 'c', cluster: { server: 'http://127.0.0.1:1' } };
    const context = { name: 'c', context: { cluster: 'c', user: 'c' } };
    const users = [{ name: 'c', user: { token: 'secret-of-the-reconciler' } }];
    await writeFile(file, JSON.stringify({ 'current-context': 'c', clusters: [cluster], contexts: [context], users }));

    const { out } = await run('doctor', '--quiet', '--garden', file);

    expect(out).toMatch(/^failed +garden +The garden cannot be asked with \S+kubeconfig: /m);
    expect(out).not.toContain('secret-of-the-reconciler');
  });

  it('ends after the first part on which all others depend', async () => {
    const database = await createEmptyDatabase();

    const { code, out } = await admin.runWith({ DATABASE_URL: database.url }, 'doctor', '--quiet');
    await database.drop();

    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/^failed +schema +The migration \S+ is missing\. Run `migrate`\.\n$/),
    ]);
  });
});

describe('lists over all teams', () => {
  it.each(['cluster', 'connection', 'operation', 'account'])(
    'are empty at first, and of a known team: %s',
    async (what) => {
      await admin.empty();
      await admin.run('team', 'create', 'acme');

      expect(await admin.json(what, 'list', '--team', 'acme')).toEqual({ [`${what}s`]: [] });
      expect((await admin.run(what, 'list', '--team', 'globex')).code).toBe(1);
    },
  );

  it('find what one request did', async () => {
    await admin.empty();
    await admin.run('team', 'create', 'acme');
    await admin.pool.query(`UPDATE audit_entry SET request_id = 'req-1'`);

    const { entries } = await admin.json<{ entries: object[] }>('audit', '--request-id', 'req-1');

    expect(entries).toEqual([expect.objectContaining({ team: 'acme', action: 'team.create', target: 'acme' })]);
  });
});
