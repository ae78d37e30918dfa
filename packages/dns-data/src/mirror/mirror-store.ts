import { isAtOrBelow } from '@corral/contracts';
import type { Queryable } from '@corral/database';
import { type PageLookUp, pageStatement, type RrsetPage, type RrsetScope, recordsStatement } from './rrset-page.js';

export interface ZoneRecord {
  readonly id: number;
  readonly name: string;
  /** The upstream's JSON text. */
  readonly body: string;
}

const findRrsetBody = {
  name: 'rrset-by-key',
  text: 'SELECT body FROM dns_rrset WHERE zone_id = $1 AND owner_label = $2 AND name = $3 AND type = $4',
};

/** Reads of the mirror. Each takes the owner and costs at most one statement and no upstream call. */
export const mirrorStore = (db: Queryable) => ({
  async findZone(name: string): Promise<ZoneRecord | null> {
    const { rows } = await db.query<ZoneRecord>('SELECT id, name, body FROM dns_zone WHERE name = $1', [name]);
    return rows[0] ?? null;
  },

  /** The body of one set, null when the scope has none with that name and type. */
  async findRrset({ zoneId, ownerLabel, root }: RrsetScope, name: string, type: string): Promise<string | null> {
    if (!isAtOrBelow(name, root)) return null;
    const { rows } = await db.query<{ body: string }>({ ...findRrsetBody, values: [zoneId, ownerLabel, name, type] });
    return rows[0]?.body ?? null;
  },

  /** The number of records in the scope. */
  async countRecords(scope: RrsetScope): Promise<number> {
    const { rows } = await db.query<{ records: number }>(recordsStatement(scope));
    return rows[0]?.records ?? 0;
  },

  /** One page of the selected sets. */
  async pageRrsets(lookUp: PageLookUp): Promise<RrsetPage> {
    const { rows } = await db.query<RrsetPage>(pageStatement(lookUp));
    return rows[0] as RrsetPage;
  },
});
export type MirrorStore = ReturnType<typeof mirrorStore>;
