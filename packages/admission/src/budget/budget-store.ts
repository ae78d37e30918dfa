import { fullJitterMs, sleep } from '@corral/service';
import { Redis } from 'ioredis';
import { type BudgetState, stateForm } from './account.js';
import { type KeptReading, keptReading } from './readings.js';

/** A pure function from one state to the next; `now` is the store's clock. It may be called more than once. */
export type Change<T> = (state: BudgetState | null, now: number) => { state: BudgetState; answer: T };

/** Processes that share an upstream project keep their account of its budget here. */
export interface BudgetStore {
  /**
   * Changes the state of a project, one change at a time.
   *
   * @throws BudgetBusy when others changed it each time: this change has not taken place
   * @throws when the store cannot be reached; the change may have taken place all the same
   */
  update<T>(project: string, change: Change<T>): Promise<T>;
  /** The budgets of all projects that were used recently, by project. For display. */
  readAll(): Promise<Record<string, KeptReading>>;
  close(): Promise<void>;
}

/** The one place where an installation keeps its budgets: Redis where there is one, else Postgres. */
export function connectBudgetStore(options: {
  readonly redisUrl: string | undefined;
  readonly database: StatementRunner;
  readonly onError: (error: Error) => void;
}): BudgetStore {
  const { redisUrl, database, onError } = options;
  return versionedStore(redisUrl === undefined ? postgresTexts(database) : redisTexts(redisUrl, onError));
}

/** The store is there, but others were faster. */
export class BudgetBusy extends Error {
  override readonly name = 'BudgetBusy';
}

/** A store for a process that has the project to itself. */
export function memoryStore(now: () => number = () => performance.now()): BudgetStore {
  const states = new Map<string, BudgetState>();
  return {
    async update(project, change) {
      const { state, answer } = change(states.get(project) ?? null, now());
      states.set(project, state);
      return answer;
    },
    async readAll() {
      return Object.fromEntries([...states].map(([project, state]) => [project, keptReading(state, now())]));
    },
    close: async () => undefined,
  };
}

/** A text with its version, by which two writers notice each other. Version 0 is that of a text that is not there. */
interface Kept {
  readonly text: string | null;
  readonly version: number;
  /** The time on the clock of the store, so that those of the processes do not matter. */
  readonly now: number;
}

interface VersionedTexts {
  /**
   * Writes a text if this version is the present one.
   *
   * @param text null to read only
   * @returns its new version; or if nothing was written, what is there
   */
  swap(project: string, version: number, text: string | null): Promise<Kept & { readonly isWritten: boolean }>;
  getAll(): Promise<{ texts: Record<string, string>; now: number }>;
  close(): Promise<void>;
}

const TRIES = 12;
/** Short at first, and doubled with each try: writers spread until each finds its moment. */
const retry = { firstMs: 4, maxMs: 64 };

/**
 * Changes what it last saw, and writes that if no other writer was there meanwhile: one round trip. Else it gets the
 * present state in the same round trip, and tries again. No lock is held, so a process that stops half-way blocks no
 * other.
 */
function versionedStore(texts: VersionedTexts): BudgetStore {
  /** What is known of each project, and how far the store's clock is ahead of this one's. */
  const known = new Map<string, { state: BudgetState | null; version: number; aheadMs: number }>();
  const note = (project: string, state: BudgetState | null, { version, now }: Kept) => {
    const seen = { state, version, aheadMs: now - performance.now() };
    known.set(project, seen);
    return seen;
  };
  const read = async (project: string) => {
    const kept = await texts.swap(project, -1, null);
    return note(project, parseState(kept.text), kept);
  };
  return {
    async update(project, change) {
      let seen = known.get(project) ?? (await read(project));
      for (let attempt = 0; attempt < TRIES; attempt += 1) {
        const { state, answer } = change(seen.state, Math.floor(seen.aheadMs + performance.now()));
        const tried = seen.version;
        const kept = await texts.swap(project, tried, JSON.stringify(state));
        seen = note(project, kept.isWritten ? state : parseState(kept.text), kept);
        if (kept.isWritten) return answer;
        // Postgres waited for another writer, and answered as of before.
        if (kept.version === tried) seen = await read(project);
        if (attempt > 0) await sleep(fullJitterMs(attempt - 1, retry));
      }
      throw new BudgetBusy(`The budget changed ${TRIES} times while it was being changed.`);
    },
    async readAll() {
      const { texts: all, now } = await texts.getAll();
      const readings = Object.entries(all).flatMap(([project, text]) => {
        const state = parseState(text);
        return state === null ? [] : [[project, keptReading(state, now)] as const];
      });
      return Object.fromEntries(readings);
    },
    close: () => texts.close(),
  };
}

/** A text that cannot be read counts as lost: a new account is opened. */
function parseState(text: string | null): BudgetState | null {
  try {
    const state = text === null ? null : (JSON.parse(text) as BudgetState | null);
    return state?.form === stateForm ? state : null;
  } catch {
    return null;
  }
}

/** One hash holds everything: `<project>` its state, `<project>:version` its version. */
const KEY = `corral:upstream-budget:${stateForm}`;
/** After an hour without a call every budget is full again, so nothing is lost with the state. */
const KEPT_MS = 2 * 3_600_000;

/** A new text gets the time as its version, so that no version comes twice when everything was lost. */
const swapScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kept = redis.call('HMGET', KEYS[1], ARGV[1], ARGV[1] .. ':version')
local version = tonumber(kept[2]) or 0
if version ~= tonumber(ARGV[2]) then return {0, kept[1], version, now} end
version = version == 0 and now or version + 1
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3], ARGV[1] .. ':version', version)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {1, false, version, now}`;

/** How long a connection may owe an answer. */
const SILENT_MS = 1_000;

/** Texts in Redis. Fails fast while Redis is away; it is not away while the first connection is being made. */
function redisTexts(redisUrl: string, onError: (error: Error) => void): VersionedTexts {
  const redis = new Redis(redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    // Its commands fail, and it is made anew.
    socketTimeout: SILENT_MS,
  });
  redis.on('error', onError);
  const tried = new Promise<void>((resolve) => {
    for (const event of ['ready', 'close']) redis.once(event, () => resolve());
  });
  return {
    async swap(project, version, text) {
      await tried;
      const swapped = await redis.eval(swapScript, 1, KEY, project, version, text ?? '', KEPT_MS);
      const [isWritten, kept, present, now] = swapped as [number, string | null, number, number];
      return { isWritten: isWritten === 1, text: kept, version: present, now };
    },
    async getAll() {
      await tried;
      const [kept, [seconds]] = await Promise.all([redis.hgetall(KEY), redis.time()]);
      const texts = Object.entries(kept).filter(([field]) => !field.endsWith(':version'));
      return { texts: Object.fromEntries(texts), now: Number(seconds) * 1_000 };
    },
    close: async () => redis.disconnect(),
  };
}

/** A pool of `pg`, as far as it is needed here. */
export interface StatementRunner {
  query(statement: { text: string; values: unknown[] }): Promise<{ rows: unknown[] }>;
}

/** Names the rows of this form. Those of others belong to processes of other versions. */
const PREFIX = `${stateForm}:`;

const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::float8`;

const swapStatement = `
  WITH added AS (
    INSERT INTO upstream_budget (project, version, state)
    SELECT $1, floor(${clock})::bigint, $3 WHERE $2::bigint = 0
    ON CONFLICT (project) DO NOTHING RETURNING version
  ), changed AS (
    UPDATE upstream_budget SET version = version + 1, state = $3, updated_at = clock_timestamp()
    WHERE project = $1 AND version = $2::bigint RETURNING version
  ), written AS (SELECT version FROM added UNION ALL SELECT version FROM changed)
  SELECT ${clock} AS now, (SELECT version FROM written)::text AS written, version::text,
    CASE WHEN NOT EXISTS (SELECT FROM written) THEN state END AS state
  FROM (SELECT 1) AS one LEFT JOIN upstream_budget ON project = $1`;

const getAllStatement = `
  SELECT ${clock} AS now, substr(project, ${PREFIX.length + 1}) AS project, state FROM upstream_budget
  WHERE project LIKE '${PREFIX}%' AND updated_at > clock_timestamp() - interval '2 hours'`;

/** Texts in the table `upstream_budget`. */
function postgresTexts(database: StatementRunner): VersionedTexts {
  return {
    async swap(project, version, text) {
      const { rows } = await database.query({
        text: swapStatement,
        values: [`${PREFIX}${project}`, version, text ?? ''],
      });
      const [row] = rows as { now: number; written: string | null; version: string | null; state: string | null }[];
      if (row === undefined) throw new Error('Postgres returned no time.');
      const present = Number(row.written ?? row.version ?? 0);
      return { isWritten: row.written !== null, text: row.state, version: present, now: row.now };
    },
    async getAll() {
      const { rows } = await database.query({ text: getAllStatement, values: [] });
      const found = rows as { now: number; project: string; state: string }[];
      return {
        texts: Object.fromEntries(found.map(({ project, state }) => [project, state])),
        now: found[0]?.now ?? 0,
      };
    },
    close: async () => undefined,
  };
}
