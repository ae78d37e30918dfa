import type { Pool, Queryable } from '@corral/database';
import { LRUCache } from 'lru-cache';
import { type PageLookUp, pageStatement, type Statement, unseen } from './rrset-page.js';

export interface RrsetPage {
  readonly total: number;
  /** JSON texts joined by commas. */
  readonly bodies: string;
}

/** Where in the history of a database a page was read. */
interface ReadAt {
  /** Every transaction with a lower id had ended, so every later change has this one or a higher one. */
  readonly horizon: string;
  /** When the server started. Another server, such as a promoted standby, may give the same ids to other transactions. */
  readonly server: string;
}

interface KeptPage {
  readonly page: RrsetPage;
  readonly readAt: ReadAt;
}

/** Each page is read again after this time, however often it was confirmed: no error in what follows could last longer. */
const KEPT_MS = 10_000;
/** In characters, of all pages of a process. */
const KEPT_SIZE_MAX = 8 * 1024 * 1024;

/**
 * Reads pages, and keeps them for a few seconds. Each read asks Postgres, which sends a kept page again only if the team's sets have
 * changed since: triggers tell so in `team_event`, in the transaction that changes the mirror. Nobody is told what demos have, so
 * their pages are always sent.
 *
 * @returns a reader; it returns the same object while a page is unchanged
 */
export function keptPages(db: Pool | Queryable): (lookUp: PageLookUp) => Promise<RrsetPage> {
  const kept = new LRUCache<string, KeptPage>({
    ttl: KEPT_MS,
    maxSize: KEPT_SIZE_MAX,
    sizeCalculation: ({ page }, key) => page.bodies.length + key.length,
  });

  return async (lookUp) => {
    const { teamId } = lookUp;
    const key = JSON.stringify(lookUp);
    const known = kept.get(key);
    const { rows } = await db.query<RrsetPage & ReadAt>(ifChanged(pageStatement(lookUp), teamId, known?.readAt));
    const [found] = rows;
    if (found === undefined) return (known as KeptPage).page;
    const { total, bodies, horizon, server } = found;
    const page = { total, bodies };
    if (teamId !== null) kept.set(key, { page, readAt: { horizon, server } });
    return page;
  };
}

const serverStart = 'extract(epoch FROM pg_postmaster_start_time())::text';

/** The statement's row with its `ReadAt`, or no row if no set of the team has changed since then. */
function ifChanged(statement: Statement, teamId: string | null, since: ReadAt | undefined): Statement {
  const first = statement.values.length + 1;
  const [team, horizon, server] = [unseen('uuid', first), unseen('bigint', first + 1), unseen('text', first + 2)];
  const text = `
    SELECT page.total, page.bodies, pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, ${serverStart} AS server
    FROM (${statement.text}) AS page
    WHERE ${horizon} IS NULL OR ${server} <> ${serverStart}
       OR EXISTS (SELECT FROM team_event WHERE team_id = ${team} AND xid >= ${horizon} AND kind = 'RecordSet')`;
  const values = [...statement.values, teamId, since?.horizon ?? null, since?.server ?? null];
  return { ...statement, text, values };
}
