import { isAtOrBelow } from '@corral/contracts';
import type { Pool, Queryable } from '@corral/database';
import DataLoader from 'dataloader';
import { inScope, type PageLookUp, pageStatement, type RrsetScope } from './rrset-page.js';

export interface ZoneRecord {
  readonly id: number;
  readonly name: string;
  /** The upstream's JSON text. */
  readonly body: string;
}

const findZoneByName = { name: 'zone-by-name', text: 'SELECT id, name, body FROM dns_zone WHERE name = $1' };
// A batch costs little more than a single set.
const findRrsetBodies = {
  name: 'rrsets-by-key',
  text: `
    SELECT asked.position::int, rrset.body
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY
      AS asked(zone_id, owner_label, name, type, position)
    JOIN dns_rrset AS rrset USING (zone_id, owner_label, name, type)`,
};

const countRecords = {
  name: 'records-of-scope',
  text: `SELECT coalesce(sum(record_count), 0)::int AS records FROM dns_rrset WHERE ${inScope}`,
};

interface RrsetLookUp {
  readonly scope: RrsetScope;
  readonly name: string;
  readonly type: string;
}

export interface RrsetPage {
  readonly total: number;
  /** JSON texts joined by commas. */
  readonly bodies: string;
}

/**
 * Reads of the mirror. Each takes the owner and costs at most one prepared statement and no upstream call. Reads made
 * in the same turn of the event loop share a statement. It is sent after all of them were made, so each sees every
 * write answered before it.
 */
export const mirrorStore = (db: Pool | Queryable) => {
  const findBodies = async (asked: readonly RrsetLookUp[]): Promise<(string | null)[]> => {
    const { rows } = await db.query<{ position: number; body: string }>({
      ...findRrsetBodies,
      values: [
        asked.map(({ scope }) => scope.zoneId),
        asked.map(({ scope }) => scope.ownerLabel),
        asked.map(({ name }) => name),
        asked.map(({ type }) => type),
      ],
    });
    const bodies: (string | null)[] = asked.map(() => null);
    for (const { position, body } of rows) bodies[position - 1] = body;
    return bodies;
  };
  const findPage = async (lookUp: PageLookUp): Promise<RrsetPage> => {
    const { rows } = await db.query<RrsetPage>(pageStatement(lookUp));
    return rows[0] as RrsetPage;
  };
  const rrsets = loadTogether(
    findBodies,
    ({ scope, name, type }) => `${scope.zoneId}/${scope.ownerLabel}/${name}/${type}`,
  );
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
    async countRecords({ zoneId, ownerLabel, root }: RrsetScope): Promise<number> {
      const { rows } = await db.query<{ records: number }>({ ...countRecords, values: [zoneId, ownerLabel, root] });
      return rows[0]?.records ?? 0;
    },

    /** One page of the selected sets. */
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
    batchScheduleFn: (send) =>
      setImmediate(() => {
        loader.clearAll();
        send();
      }),
  });
  return (key: K): Promise<V> => loader.load(key);
}
