import { DNS_SCOPE, hashDnsToken, mintDnsToken } from '@corral/auth';
import { dnsLimits, type TeamId } from '@corral/contracts';
import { inTransaction, type Pool, type Queryable, rowClock, teamRowLock } from '@corral/database';
import { hashCourseCode } from './course-code.js';
import { type DemoAsking, type DemoRecord, demoColumns, isClear, isLive, noteDemo } from './demo-rows.js';

/** The creator of a demo: a team by one of its tokens, or the holder of a course code. */
export type DemoMaker =
  | { readonly kind: 'team'; readonly teamId: TeamId; readonly tokenId: string }
  | {
      readonly kind: 'course';
      readonly code: string;
      /** Client address: IPv4, or the /64 network for IPv6. */
      readonly address: string;
    };

export interface NewDemo {
  readonly zoneId: number;
  readonly label: string;
  readonly name: string;
  readonly ttlSeconds: number;
}

export type CreateOutcome =
  /** The only place where the token's text is available. */
  | { kind: 'created'; demo: DemoRecord; token: string }
  /** The code does not exist or is inactive. The answer does not say which. */
  | { kind: 'unknown_course' }
  /** The team, the course, or the address within the course has reached its limit of live demos. */
  | { kind: 'full'; of: 'team' | 'course' | 'address'; max: number }
  /** The label belongs to another demo, was freed too recently, or has records that no demo created. */
  | { kind: 'taken' };

/** The demos a caller may access: all of a team, or the one that a demo token belongs to. */
export type DemoReach = { readonly teamId: TeamId } | { readonly demoId: string };

export interface DemoStoreOptions {
  readonly demosPerTeam: number;
  /** Time for which the caller that ended a demo may delete its records; afterwards the reconciler deletes the rest. */
  readonly clearLeaseMs: number;
}

interface Maker {
  readonly teamId: TeamId | null;
  readonly courseCodeId: string | null;
  readonly address: string | null;
  readonly max: number;
  readonly perAddressMax: number;
}

const inReach = `demo.label = $1 AND (demo.team_id = $2 OR demo.id = $3) AND ${isLive}`;
const reachValues = (reach: DemoReach): (string | null)[] =>
  'teamId' in reach ? [reach.teamId, null] : [null, reach.demoId];

export const demoStore = (pool: Pool, { demosPerTeam, clearLeaseMs }: DemoStoreOptions) => ({
  /** Creates a demo and its token unless the label is taken or a limit is reached. Safe under concurrency. */
  create(maker: DemoMaker, wanted: NewDemo, requestId: string): Promise<CreateOutcome> {
    return inTransaction<CreateOutcome>(pool, async (tx) => {
      const locked = await lockMaker(tx, maker, demosPerTeam);
      if (locked === null) return { kind: 'unknown_course' };
      const live = await countLive(tx, locked);
      if (live.all >= locked.max) return { kind: 'full', of: maker.kind, max: locked.max };
      if (live.ofAddress >= locked.perAddressMax) return { kind: 'full', of: 'address', max: locked.perAddressMax };
      await releaseLabel(tx, wanted);
      const demo = await insertDemo(tx, locked, wanted);
      if (demo === null) return { kind: 'taken' };
      const token = mintDnsToken();
      await insertToken(tx, demo, token);
      await noteCreation(tx, demo, maker, { wanted, requestId });
      return { kind: 'created', demo, token };
    });
  },

  /** The team's live demos, oldest first. */
  async list(teamId: TeamId): Promise<DemoRecord[]> {
    const { rows } = await pool.query<DemoRecord>(
      `SELECT ${demoColumns} FROM demo JOIN dns_zone AS zone ON zone.id = demo.zone_id
       WHERE demo.team_id = $1 AND ${isLive} ORDER BY demo.created_at, demo.id`,
      [teamId],
    );
    return rows;
  },

  /** Null when no live demo within reach has the label. */
  async find(reach: DemoReach, label: string): Promise<DemoRecord | null> {
    const { rows } = await pool.query<DemoRecord>(
      `SELECT ${demoColumns} FROM demo JOIN dns_zone AS zone ON zone.id = demo.zone_id WHERE ${inReach}`,
      [label, ...reachValues(reach)],
    );
    return rows[0] ?? null;
  },

  /** Sets the expiry to `ttlSeconds` from now, capped at the longest lifetime. Null as for `find`. */
  async extend(reach: DemoReach, label: string, ttlSeconds: number, by: DemoAsking): Promise<DemoRecord | null> {
    const { rows } = await pool.query<DemoRecord>(
      `WITH demo AS (
         UPDATE demo SET ttl_seconds = $4::int, expires_at = least(clock_timestamp() + make_interval(secs => $4::int),
                                                              created_at + make_interval(secs => $5))
         WHERE ${inReach} RETURNING *
       ), noted AS (
         ${noteDemo({ actor: `'token'`, tokenId: '$6', operation: `'extend'`, request: '$7', requestId: '$8', from: 'demo' })}
       )
       SELECT ${demoColumns} FROM demo JOIN dns_zone AS zone ON zone.id = demo.zone_id`,
      [
        label,
        ...reachValues(reach),
        ttlSeconds,
        dnsLimits.demoTtlSecondsMax,
        by.tokenId,
        JSON.stringify({ ttl: ttlSeconds }),
        by.requestId,
      ],
    );
    return rows[0] ?? null;
  },

  /**
   * Ends a demo: its token is revoked and no new write begins. Its records remain; only the caller may delete them for
   * `clearLeaseMs`. Null as for `find`.
   */
  async end(reach: DemoReach, label: string, by: DemoAsking): Promise<DemoRecord | null> {
    const { rows } = await pool.query<DemoRecord>(
      `WITH demo AS (
         UPDATE demo SET ended_at = clock_timestamp(), made_from = NULL,
                         clear_at = clock_timestamp() + make_interval(secs => $5::float8 / 1000)
         WHERE ${inReach} RETURNING *
       ), revoked AS (
         UPDATE dns_token SET revoked_at = demo.ended_at FROM demo WHERE dns_token.demo_id = demo.id
       ), noted AS (
         ${noteDemo({ actor: `'token'`, tokenId: '$4', operation: `'delete'`, request: 'NULL', requestId: '$6', from: 'demo' })}
       )
       SELECT ${demoColumns} FROM demo JOIN dns_zone AS zone ON zone.id = demo.zone_id`,
      [label, ...reachValues(reach), by.tokenId, clearLeaseMs, by.requestId],
    );
    return rows[0] ?? null;
  },
});
export type DemoStore = ReturnType<typeof demoStore>;

/**
 * Locks the row of the team or the course until the end of the transaction, which serializes counting and inserting.
 */
async function lockMaker(tx: Queryable, maker: DemoMaker, demosPerTeam: number): Promise<Maker | null> {
  if (maker.kind === 'team') {
    await tx.query(teamRowLock, [maker.teamId]);
    return { teamId: maker.teamId, courseCodeId: null, address: null, max: demosPerTeam, perAddressMax: demosPerTeam };
  }
  const { rows } = await tx.query<{ courseCodeId: string; max: number; perAddressMax: number }>(
    `SELECT id AS "courseCodeId", live_demos_max AS max, live_demos_per_address_max AS "perAddressMax"
     FROM course_code WHERE hash = $1 AND deactivated_at IS NULL FOR NO KEY UPDATE`,
    [hashCourseCode(maker.code)],
  );
  const course = rows[0];
  return course === undefined ? null : { teamId: null, address: maker.address, ...course };
}

async function countLive(
  tx: Queryable,
  { teamId, courseCodeId, address }: Maker,
): Promise<{ readonly all: number; readonly ofAddress: number }> {
  const { rows } = await tx.query<{ all: number; ofAddress: number }>(
    `SELECT count(*)::int AS all, (count(*) FILTER (WHERE made_from = $3))::int AS "ofAddress"
     FROM demo WHERE (team_id = $1 OR course_code_id = $2) AND ${isLive}`,
    [teamId, courseCodeId, address],
  );
  return rows[0] ?? { all: 0, ofAddress: 0 };
}

/** Frees a label that is already due, so that the request need not wait for the reconciler. */
async function releaseLabel(tx: Queryable, { zoneId, label }: NewDemo): Promise<void> {
  await tx.query(
    `UPDATE demo SET released_at = clock_timestamp()
     WHERE zone_id = $1 AND label = $2 AND released_at IS NULL
       AND ended_at <= ${rowClock} - make_interval(secs => $3) AND ${isClear}`,
    [zoneId, label, dnsLimits.demoLabelHeldSeconds],
  );
}

/** Null when the label is taken. */
async function insertDemo(tx: Queryable, maker: Maker, wanted: NewDemo): Promise<DemoRecord | null> {
  const { rows } = await tx.query<DemoRecord>(
    `WITH demo AS (
       INSERT INTO demo (zone_id, label, name, team_id, course_code_id, made_from, ttl_seconds, created_at,
                         expires_at)
       SELECT $1, $2, $3, $4, $5, $7, $6::int, at.now, at.now + make_interval(secs => $6::int)
       FROM (SELECT clock_timestamp()::timestamptz(3) AS now) AS at
       WHERE NOT EXISTS (SELECT 1 FROM dns_rrset WHERE zone_id = $1 AND owner_label = $2)
       ON CONFLICT (zone_id, label) WHERE released_at IS NULL DO NOTHING
       RETURNING *
     )
     SELECT ${demoColumns} FROM demo JOIN dns_zone AS zone ON zone.id = demo.zone_id`,
    [wanted.zoneId, wanted.label, wanted.name, maker.teamId, maker.courseCodeId, wanted.ttlSeconds, maker.address],
  );
  return rows[0] ?? null;
}

/** The token has no expiry. The demo's expiry applies, so the two cannot differ. */
async function insertToken(tx: Queryable, { id, label }: DemoRecord, token: string): Promise<void> {
  await tx.query(
    `INSERT INTO dns_token (demo_id, name, hash, scopes, within_types, created_at)
     VALUES ($1, $2, $3, $4, '{}', clock_timestamp())`,
    [id, `demo ${label}`, hashDnsToken(token), [DNS_SCOPE]],
  );
}

async function noteCreation(
  tx: Queryable,
  { id }: DemoRecord,
  maker: DemoMaker,
  { wanted, requestId }: { readonly wanted: NewDemo; readonly requestId: string },
): Promise<void> {
  const [actor, tokenId] = maker.kind === 'team' ? ['token', maker.tokenId] : ['course', null];
  const request = JSON.stringify({ name: wanted.name, ttl: wanted.ttlSeconds });
  await tx.query(
    noteDemo({
      actor: '$2::dns_actor',
      tokenId: '$3::uuid',
      operation: `'create'`,
      request: '$4',
      requestId: '$5',
      from: 'demo WHERE id = $1',
    }),
    [id, actor, tokenId, request, requestId],
  );
}
