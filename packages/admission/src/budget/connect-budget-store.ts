import { Redis } from 'ioredis';
import { type BudgetStore, versionedStore } from './budget-store.js';

/** The one place where an installation keeps its budgets: Redis where there is one, else Postgres. */
export function connectBudgetStore(options: {
  readonly redisUrl: string | undefined;
  readonly run: RunStatement;
  readonly onError: (error: Error) => void;
}): BudgetStore {
  const { redisUrl, run, onError } = options;
  return redisUrl === undefined ? postgresBudgetStore(run) : redisBudgetStore(redisUrl, onError);
}

/** One hash holds everything: `<project>` its state, `<project>:version` its version. */
const KEY = 'corral:upstream-budget';
/** After an hour without a call every budget is full again, so nothing is lost with the state. */
const KEPT_MS = 2 * 3_600_000;

/** Redis' own clock, so that the replicas' clocks do not matter. */
const getScript = `
local time = redis.call('TIME')
local kept = redis.call('HMGET', KEYS[1], ARGV[1], ARGV[1] .. ':version')
return {kept[1], kept[2], time[1] * 1000 + math.floor(time[2] / 1000)}`;

const putScript = `
local version = tonumber(redis.call('HGET', KEYS[1], ARGV[1] .. ':version')) or 0
if version ~= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2], ARGV[1] .. ':version', version + 1)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`;

/** A store on Redis. Fails fast while Redis is away; it is not away while the first connection is being made. */
function redisBudgetStore(redisUrl: string, onError: (error: Error) => void): BudgetStore {
  const redis = new Redis(redisUrl, { enableOfflineQueue: false, maxRetriesPerRequest: 0, connectTimeout: 2_000 });
  redis.on('error', onError);
  const tried = new Promise<void>((resolve) => {
    for (const event of ['ready', 'close']) redis.once(event, () => resolve());
  });
  return versionedStore({
    async get(project) {
      await tried;
      const [text, version, now] = (await redis.eval(getScript, 1, KEY, project)) as [
        string | null,
        string | null,
        number,
      ];
      return { text, version: Number(version ?? 0), now };
    },
    async put(project, text, version) {
      return (await redis.eval(putScript, 1, KEY, project, text, version, KEPT_MS)) === 1;
    },
    async getAll() {
      await tried;
      const [kept, [seconds]] = await Promise.all([redis.hgetall(KEY), redis.time()]);
      const texts = Object.entries(kept).filter(([field]) => !field.endsWith(':version'));
      return { texts: Object.fromEntries(texts), now: Number(seconds) * 1_000 };
    },
    close: async () => redis.disconnect(),
  });
}

/** Runs one statement of `pg`, e.g. `(statement) => pool.query(statement)`. */
export type RunStatement = (statement: {
  text: string;
  values: unknown[];
}) => Promise<{ rows: unknown[]; rowCount: number | null }>;

const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::float8`;

const getStatement = {
  text: `SELECT ${clock} AS now, version, state FROM (SELECT 1) AS one LEFT JOIN upstream_budget ON project = $1`,
};

const putStatement = {
  text: `INSERT INTO upstream_budget AS kept (project, version, state) VALUES ($1, $2::bigint + 1, $3)
         ON CONFLICT (project) DO UPDATE
         SET version = excluded.version, state = excluded.state, updated_at = clock_timestamp()
         WHERE kept.version = $2::bigint`,
};

const getAllStatement = {
  text: `SELECT ${clock} AS now, project, state FROM upstream_budget
         WHERE updated_at > clock_timestamp() - interval '2 hours'`,
};

/** A store in the table `upstream_budget`. */
function postgresBudgetStore(run: RunStatement): BudgetStore {
  return versionedStore({
    async get(project) {
      const { rows } = await run({ ...getStatement, values: [project] });
      const [row] = rows as { now: number; version: number | null; state: string | null }[];
      if (row === undefined) throw new Error('Postgres returned no time.');
      return { text: row.state, version: Number(row.version ?? 0), now: row.now };
    },
    async put(project, text, version) {
      return (await run({ ...putStatement, values: [project, version, text] })).rowCount === 1;
    },
    async getAll() {
      const { rows } = await run({ ...getAllStatement, values: [] });
      const found = rows as { now: number; project: string; state: string }[];
      return {
        texts: Object.fromEntries(found.map(({ project, state }) => [project, state])),
        now: found[0]?.now ?? 0,
      };
    },
    close: async () => undefined,
  });
}
