import { createHash, randomUUID } from 'node:crypto';
import type { TeamId } from '@corral/contracts';
import { connectPool, connectPrisma } from '@corral/database';
import { createTestDatabase, patientPool, patientTransactions } from '@corral/testing';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import {
  type BeginOutcome,
  type DeliveryCheck,
  type LedgerOptions,
  type NewWrite,
  type RrsetKey,
  type RrsetOwner,
  type RrsetWrite,
  type WriteEnd,
  type WriteLease,
  type WriteLedger,
  writeLedger,
  zoneSyncStore,
} from '../src/index.js';

export const ZONE_ID = 7001;
const DEMO_ZONE_ID = 7002;

export interface TestDemo {
  readonly owner: RrsetOwner;
  readonly label: string;
}

export interface TestTeam {
  readonly id: TeamId;
  readonly slug: string;
  readonly tokenId: string;
}

/** An entry, of which tests look at more than these by name. */
interface EntryRow {
  lease_until: Date | null;
  recheck_at: Date | null;
}

export type MirrorDatabase = Awaited<ReturnType<typeof openMirrorDatabase>>;

/** A database with one zone, for one test file. */
export async function openMirrorDatabase() {
  const database = await createTestDatabase();
  const pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'test',
    connectionsMax: 20,
    ...patientPool,
    onIdleError: () => undefined,
  });
  const prisma = connectPrisma(pool, patientTransactions);
  await pool.query(`INSERT INTO dns_zone (id, name, body, synced_at) VALUES ($1, 'example.test', '{}', now())`, [
    ZONE_ID,
  ]);
  return {
    url: database.url,
    pool,
    prisma,
    /** @param slug default: a random one */
    async createTeam(slug = `t${randomUUID().slice(0, 8)}`): Promise<TestTeam> {
      const team = await pool.query<{ id: string }>('INSERT INTO team (slug) VALUES ($1) RETURNING id', [slug]);
      const id = team.rows[0]?.id as TeamId;
      const token = await pool.query<{ id: string }>(
        `INSERT INTO dns_token (team_id, name, hash, scopes) VALUES ($1, 'test', $2, '{dns}') RETURNING id`,
        [id, createHash('sha256').update(randomUUID()).digest()],
      );
      return { id, slug, tokenId: token.rows[0]?.id as string };
    },
    ledger: (options: Partial<LedgerOptions> = {}): WriteLedger =>
      writeLedger(prisma, {
        quota: { recordsPerTeam: 200, recordsPerDemo: 20, recordsPerRrset: 50 },
        leaseMs: 20_000,
        replayMs: 60_000,
        ...options,
      }),
    async entry(id: number): Promise<EntryRow> {
      const { rows } = await pool.query<EntryRow>('SELECT * FROM dns_audit_entry WHERE id = $1', [id]);
      return rows[0] as EntryRow;
    },
    async close() {
      await prisma.$disconnect();
      await pool.end();
      await database.drop();
    },
  };
}

export interface MirrorFixture {
  database: MirrorDatabase;
  ledger: WriteLedger;
  /** A new one for each test. */
  team: TestTeam;
  /** A name of the team. */
  name: string;
}

/** Opens a database for the tests of a file, and closes it after them. */
export function mirrorFixture(ledgerOptions?: Partial<LedgerOptions>): MirrorFixture {
  const fixture = {} as MirrorFixture;
  beforeAll(async () => {
    fixture.database = await openMirrorDatabase();
    fixture.ledger = fixture.database.ledger(ledgerOptions);
  });
  afterAll(() => fixture.database.close());
  beforeEach(async () => {
    fixture.team = await fixture.database.createTeam();
    fixture.name = `api.${fixture.team.slug}`;
  });
  return fixture;
}

export const keyOf = (name: string, zoneId = ZONE_ID): RrsetKey => ({ zoneId, name, type: 'A' });

/** A demo of a course, in the zone of the demos. */
export async function createDemo({ pool }: MirrorDatabase): Promise<TestDemo> {
  const label = `d${randomUUID().slice(0, 8)}`;
  await pool.query(
    `INSERT INTO dns_zone (id, name, body, of_demos, synced_at) VALUES ($1, 'demos.test', '{}', true, now()) ON CONFLICT DO NOTHING`,
    [DEMO_ZONE_ID],
  );
  const { rows } = await pool.query<{ id: string }>(
    `WITH course AS (
       INSERT INTO course_code (code, hash, live_demos_max) VALUES ($2, sha256($2::text::bytea), 20) RETURNING id
     )
     INSERT INTO demo (zone_id, label, name, course_code_id, ttl_seconds, expires_at)
     SELECT $1, $2, $2, id, 300, now() + interval '1 day' FROM course RETURNING id`,
    [DEMO_ZONE_ID, label],
  );
  return { owner: { kind: 'demo', id: rows[0]?.id as string, teamId: null }, label };
}

/** A write of a demo, by Corral itself. */
export const newDemoWrite = (team: TestTeam, { owner }: TestDemo, name: string, write: RrsetWrite): NewWrite => ({
  ...newWrite(team, name, write),
  owner,
  tokenId: null,
  key: keyOf(name, DEMO_ZONE_ID),
});

/** A write as the gateway passes it on. `sentAs` changes the hash of its request. */
export function newWrite(team: TestTeam, name: string, write: RrsetWrite, sentAs = ''): NewWrite {
  const requestBody = JSON.stringify(write);
  const requestHash = createHash('sha256').update(`${team.tokenId} ${name} ${requestBody} ${sentAs}`).digest();
  const owner = { kind: 'team', id: team.id, teamId: team.id } as const;
  return { owner, tokenId: team.tokenId, key: keyOf(name), write, requestBody, requestId: 'request', requestHash };
}

const recordsOf = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => ({ value: `192.0.2.${from + at}` }));

export const addOf = (count: number, from = 0): RrsetWrite => ({
  operation: 'add_records',
  ttl: null,
  records: recordsOf(count, from),
});

/** A set's body as the upstream would state it. */
export function bodyOf(name: string, count: number): string {
  const records = recordsOf(count).map((record) => ({ ...record, comment: '' }));
  const rest = { ttl: null, labels: {}, protection: { change: false }, records, zone: ZONE_ID };
  return JSON.stringify({ id: `${name}/A`, name, type: 'A', ...rest });
}

let lastActionId = 880_000;

export function accepted(rrset: string | null, more: { status?: string; recheck?: boolean } = {}) {
  lastActionId += 1;
  const action = { id: lastActionId, status: more.status ?? 'running' };
  const end = { state: 'completed', status: 201, body: JSON.stringify({ action }), rrset } as const;
  const recheck = more.recheck ?? false;
  return { ...end, recheck, action: { ...action, body: JSON.stringify(action) } } satisfies WriteEnd;
}

export const neverDelivered: DeliveryCheck = (_entryId, recorded) => recorded;

export async function begin(
  ledger: WriteLedger,
  write: NewWrite,
  wasDelivered: DeliveryCheck = neverDelivered,
): Promise<WriteLease> {
  const outcome: BeginOutcome = await ledger.begin(write, wasDelivered);
  if (outcome.kind !== 'begun') throw new Error(`The write did not begin: ${JSON.stringify(outcome)}`);
  return outcome.lease;
}

/** A write that the upstream accepts. @returns its action and its entry */
export async function writeAccepted(
  ledger: WriteLedger,
  write: NewWrite,
  rrset: string | null,
  more?: Parameters<typeof accepted>[1],
): Promise<{ id: number; entryId: number }> {
  const lease = await begin(ledger, write);
  const end = accepted(rrset, more);
  await ledger.finish(lease, write.key, end);
  return { id: end.action.id, entryId: lease.entryId };
}

/**
 * Observes what the upstream states of a set, one second after everything that is known of it. As the reconciler does, it then forgets
 * that the set is to be read again.
 */
export async function observeLater(
  { pool, prisma }: MirrorDatabase,
  name: string,
  found: string | null,
): Promise<void> {
  const set = [ZONE_ID, name];
  const isOfSet = `zone_id = $1 AND name = $2 AND type = 'A'`;
  await pool.query(
    `UPDATE dns_action SET checked_at = checked_at - interval '1 second'
     WHERE audit_entry_id IN (SELECT id FROM dns_audit_entry WHERE ${isOfSet})`,
    set,
  );
  await pool.query(
    `UPDATE dns_audit_entry SET completed_at = completed_at - interval '1 second' WHERE ${isOfSet}`,
    set,
  );
  const sync = zoneSyncStore(prisma);
  const reading = { key: keyOf(name), found, readAt: await sync.readClock() };
  const { result } = await sync.observe(reading, { graceMs: 60_000, purpose: 'sync' });
  if (result !== 'skipped') await pool.query(`UPDATE dns_audit_entry SET recheck_at = NULL WHERE ${isOfSet}`, set);
}
