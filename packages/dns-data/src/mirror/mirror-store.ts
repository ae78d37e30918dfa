import { isAtOrBelow } from '@corral/contracts';
import type { Pool, Queryable } from '@corral/database';
import DataLoader from 'dataloader';
import { mirroredRecords } from '../writes/records-held.js';
import { keptPages, type RrsetPage } from './kept-pages.js';
import { inScope, isWhole, type PageLookUp, type RrsetScope, unseen } from './rrset-page.js';

export interface ZoneRecord {
  readonly id: number;
  readonly name: string;
  /** The upstream's JSON text. */
  readonly body: string;
}

const findZoneByName = { name: 'zone-by-name', text: 'SELECT id, name, body FROM dns_zone WHERE name = $1' };
/**
 * All sets of a batch in one scan of the index, which takes a third of the time of a join with the look-ups. It may also find sets
 * that combine the owner of one look-up with the name of another, which nobody gets.
 */
const findRrsetBodies = {
  name: 'rrsets-by-key',
  text: `
    SELECT zone_id::text AS "zoneId", owner_label AS "ownerLabel", name, type, body FROM dns_rrset
    WHERE zone_id = ANY(${unseen('bigint[]', 1)}::bigint[]) AND owner_label = ANY(${unseen('text[]', 2)}::text[])
      AND name = ANY(${unseen('text[]', 3)}::text[]) AND type = ANY(${unseen('text[]', 4)}::text[])`,
};
/** Postgres 16 and older look up each combination of owner, name and type. */
const BATCH_MAX = 16;

const countRecords = {
  name: 'records-of-owner',
  text: `SELECT ${mirroredRecords('$1', '$2')} AS records`,
};
const countRecordsBelow = {
  name: 'records-of-scope',
  text: `SELECT coalesce(sum(record_count), 0)::int AS records FROM dns_rrset WHERE ${inScope}`,
};

interface RrsetLookUp {
  readonly scope: RrsetScope;
  readonly name: string;
  readonly type: string;
}

interface FoundRrset {
  readonly zoneId: string;
  readonly ownerLabel: string;
  readonly name: string;
  readonly type: string;
  readonly body: string;
}

/** No stored name or type contains a slash. */
const rrsetKey = (
  { zoneId, ownerLabel }: { zoneId: number | string; ownerLabel: string },
  { name, type }: { name: string; type: string },
): string => `${zoneId}/${ownerLabel}/${name}/${type}`;

const distinct = <T, V>(items: readonly T[], partOf: (item: T) => V): V[] => [...new Set(items.map(partOf))];

/**
 * Reads of the mirror. Each takes the owner and costs at most one prepared statement and no upstream call. Reads made
 * in the same turn of the event loop share a statement. It is sent after all of them were made, so each sees every
 * write answered before it.
 */
export const mirrorStore = (db: Pool | Queryable) => {
  const findBodies = async (asked: readonly RrsetLookUp[]): Promise<(string | null)[]> => {
    const { rows } = await db.query<FoundRrset>({
      ...findRrsetBodies,
      values: [
        distinct(asked, ({ scope }) => scope.zoneId),
        distinct(asked, ({ scope }) => scope.ownerLabel),
        distinct(asked, ({ name }) => name),
        distinct(asked, ({ type }) => type),
      ],
    });
    const found = new Map(rows.map((row) => [rrsetKey(row, row), row.body]));
    return asked.map((lookUp) => found.get(rrsetKey(lookUp.scope, lookUp)) ?? null);
  };
  const findPage = keptPages(db);
  const rrsets = loadTogether(findBodies, (lookUp) => rrsetKey(lookUp.scope, lookUp));
  const pages = loadTogether(
    (asked: readonly PageLookUp[]) => Promise.all(asked.map(findPage)),
    (lookUp) => JSON.stringify(lookUp),
  );

  return {
    async findZone(name: string): Promise<ZoneRecord | null> {
      const { rows } = await db.query<ZoneRecord>({ ...findZoneByName, values: [name] });
      return rows[0] ?? null;
    },

    /** The body of one set, null when the scope has none with that name and type. */
    async findRrset(scope: RrsetScope, name: string, type: string): Promise<string | null> {
      return isAtOrBelow(name, scope.root) ? rrsets({ scope, name, type }) : null;
    },

    /** The number of records in the scope. */
    async countRecords(scope: RrsetScope): Promise<number> {
      const { zoneId, ownerLabel, root } = scope;
      const { rows } = await db.query<{ records: number }>(
        isWhole(scope)
          ? { ...countRecords, values: [zoneId, ownerLabel] }
          : { ...countRecordsBelow, values: [zoneId, ownerLabel, root] },
      );
      return rows[0]?.records ?? 0;
    },

    /** One page of the selected sets, the same object while it is unchanged: see `keptPages`. */
    pageRrsets(lookUp: PageLookUp): Promise<RrsetPage> {
      return pages(lookUp);
    },
  };
};
export type MirrorStore = ReturnType<typeof mirrorStore>;

/** Shares a look-up within one turn of the event loop. Results are not cached beyond it. */
function loadTogether<K, V>(load: (keys: readonly K[]) => Promise<V[]>, cacheKeyFn: (key: K) => string) {
  const loader = new DataLoader<K, V, string>(load, {
    cacheKeyFn,
    maxBatchSize: BATCH_MAX,
    batchScheduleFn: (send) =>
      setImmediate(() => {
        loader.clearAll();
        send();
      }),
  });
  return (key: K): Promise<V> => loader.load(key);
}
