import { inTransaction, type Pool } from '@corral/database';
import { type BudgetState, stateForm } from './account.js';
import { type KeptReading, keptReading } from './readings.js';

/** A pure function from one state to the next; `now` is the store's clock. */
export type Change<T> = (state: BudgetState | null, now: number) => { state: BudgetState; answer: T };

/** Processes that share an upstream project keep their account of its budget here. */
export interface BudgetStore {
  /**
   * Changes the state of a project, one change at a time.
   *
   * @throws when the store cannot be reached; the change may have taken place all the same
   */
  update<T>(project: string, change: Change<T>): Promise<T>;
}

/** A store for a process that has the project to itself. */
export function memoryStore(): BudgetStore {
  const states = new Map<string, BudgetState>();
  return {
    async update(project, change) {
      const { state, answer } = change(states.get(project) ?? null, performance.now());
      states.set(project, state);
      return answer;
    },
  };
}

/** Names the rows of this form. Those of others belong to processes of other versions. */
const PREFIX = `${stateForm}:`;

/** The clock of the store, so that those of the processes do not matter. */
const clock = `(extract(epoch FROM clock_timestamp()) * 1000)::float8`;

/** Counting the change locks the row. The clock is read after that. */
const lockStatement = `
  INSERT INTO upstream_budget AS kept (project, version, state) VALUES ($1, 1, '')
  ON CONFLICT (project) DO UPDATE SET version = kept.version + 1
  RETURNING state, ${clock} AS now`;

const writeStatement = `
  UPDATE upstream_budget SET state = $2, updated_at = clock_timestamp() WHERE project = $1`;

const readAllStatement = `
  SELECT ${clock} AS now, substr(project, ${PREFIX.length + 1}) AS project, state FROM upstream_budget
  WHERE project LIKE '${PREFIX}%' AND updated_at > clock_timestamp() - interval '2 hours'`;

/** The accounts that all processes of an installation share, in the table `upstream_budget`. */
export function sharedStore(database: Pool): BudgetStore {
  return {
    update: (project, change) =>
      inTransaction(database, async (tx) => {
        const row = `${PREFIX}${project}`;
        const { rows } = await tx.query<{ state: string; now: number }>(lockStatement, [row]);
        const [{ state: text, now }] = rows as [(typeof rows)[number]];
        const { state, answer } = change(parseState(text), now);
        await tx.query(writeStatement, [row, JSON.stringify(state)]);
        return answer;
      }),
  };
}

/** The budgets of all projects that were used recently, by project. For display. */
export async function readBudgets(database: Pool): Promise<Record<string, KeptReading>> {
  const { rows } = await database.query<{ now: number; project: string; state: string }>(readAllStatement);
  const readings = rows.flatMap(({ now, project, state: text }) => {
    const state = parseState(text);
    return state === null ? [] : [[project, keptReading(state, now)] as const];
  });
  return Object.fromEntries(readings);
}

/** A text that cannot be read counts as lost: a new account is opened. */
function parseState(text: string): BudgetState | null {
  try {
    const state = JSON.parse(text) as BudgetState | null;
    return state?.form === stateForm ? state : null;
  } catch {
    return null;
  }
}
