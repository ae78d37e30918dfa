import { type BudgetStore, versionedStore } from './budget-store.js';

/** Runs one named statement of `pg`, e.g. `(statement) => pool.query(statement)`. */
export type RunStatement = (statement: {
  name: string;
  text: string;
  values: unknown[];
}) => Promise<{ rows: unknown[]; rowCount: number | null }>;

const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::float8`;

const getStatement = {
  name: 'upstream-budget-get',
  text: `SELECT ${clock} AS now, version, state FROM (SELECT 1) AS one LEFT JOIN upstream_budget ON project = $1`,
};

const putStatement = {
  name: 'upstream-budget-put',
  text: `INSERT INTO upstream_budget AS kept (project, version, state) VALUES ($1, $2::bigint + 1, $3)
         ON CONFLICT (project) DO UPDATE
         SET version = excluded.version, state = excluded.state, updated_at = clock_timestamp()
         WHERE kept.version = $2::bigint`,
};

const getAllStatement = {
  name: 'upstream-budget-get-all',
  text: `SELECT ${clock} AS now, project, state FROM upstream_budget
         WHERE updated_at > clock_timestamp() - interval '2 hours'`,
};

/** A store in the table `upstream_budget`. */
export function postgresBudgetStore(run: RunStatement): BudgetStore {
  return versionedStore({
    async get(project) {
      const { rows } = await run({ ...getStatement, values: [project] });
      const [row] = rows as { now: number; version: number | null; state: string | null }[];
      if (row === undefined) throw new Error('Postgres told no time.');
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
