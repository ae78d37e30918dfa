import { type Prisma, readClock, rowClock, sqlText } from '@corral/database';
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

/** Longest wait for the store. Who asked has given up then, and asks again. */
export const storeMs = 1_000;

interface KeptRow {
  readonly now: Date;
  /** Null when there is none yet. */
  readonly version: bigint | null;
  readonly text: string;
}

/** The accounts that all processes of an installation share, on the clock of Postgres. */
export const sharedStore = (prisma: Prisma): BudgetStore => ({
  async update(name, change) {
    const project = `${PREFIX}${name}`;
    // Repeated while others change it in between: nobody has to wait for one that stopped half-way. One that was held up begins again too,
    // so that a change whose process has given it up is not kept.
    for (;;) {
      const [kept] = await prisma.$queryRaw<[KeptRow]>`
        SELECT ${sqlText(rowClock)} AS now, version, coalesce(state, '') AS text
        FROM (VALUES (${project})) AS wanted (project) LEFT JOIN upstream_budget USING (project)`;
      const { state, answer } = change(parseState(kept.text), kept.now.getTime());
      const changed = await prisma.$executeRaw`
        INSERT INTO upstream_budget AS kept (project, version, state, updated_at)
        VALUES (${project}, 1, ${JSON.stringify(state)}, ${kept.now})
        ON CONFLICT (project) DO UPDATE
        SET version = kept.version + 1, state = excluded.state, updated_at = excluded.updated_at
        WHERE kept.version = ${kept.version}
          AND clock_timestamp() < ${kept.now}::timestamptz + make_interval(secs => ${storeMs}::float8 / 1000)`;
      if (changed === 1) return answer;
    }
  },
});

/** So long after its last call an account says nothing: every budget is full again by then. */
const SHOWN_MS = 2 * 3_600_000;

/** The budgets of all projects that were used recently, by project. For display. */
export async function readBudgets(prisma: Prisma): Promise<Record<string, KeptReading>> {
  const now = (await readClock(prisma)).getTime();
  const rows = await prisma.upstreamBudget.findMany({
    where: { project: { startsWith: PREFIX }, updatedAt: { gt: new Date(now - SHOWN_MS) } },
  });
  const readings = rows.flatMap(({ project, state: text }) => {
    const state = parseState(text);
    return state === null ? [] : [[project.slice(PREFIX.length), keptReading(state, now)] as const];
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
