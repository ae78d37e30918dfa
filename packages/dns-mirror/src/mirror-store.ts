import { isAtOrBelow } from '@corral/contracts';
import type { Pool, Queryable } from '@corral/database';

export interface ZoneRecord {
  readonly id: number;
  readonly name: string;
  /** The upstream's JSON text. */
  readonly body: string;
}

/** One mirrored record set. */
export interface MirroredRrset {
  readonly name: string;
  readonly type: string;
  readonly body: string;
  readonly firstSeenAt: Date;
}

/** Which sets a caller sees: those of one team, or of a name below the team's. */
export interface RrsetScope {
  readonly zoneId: number;
  readonly teamSlug: string;
  /** The team's own name, or the one its token is narrowed to. */
  readonly root: string;
}

const findZoneByName = { name: 'zone-by-name', text: 'SELECT id, name, body FROM dns_zone WHERE name = $1' };
const findRrsetBody = {
  name: 'rrset-by-key',
  text: 'SELECT body FROM dns_rrset WHERE zone_id = $1 AND owner_label = $2 AND name = $3 AND type = $4',
};
const inScope = `zone_id = $1 AND owner_label = $2 AND (name = $3 OR right(name, length($3) + 1) = '.' || $3)`;

// The page arrives as one string of bodies, ready to be sent: nothing is parsed or built again on the way.
const pageOfBodies = {
  name: 'rrset-page',
  text: `
    WITH mine AS MATERIALIZED (
      SELECT (name || '/' || type) COLLATE "C" AS id, body FROM dns_rrset WHERE ${inScope}
    )
    SELECT (SELECT count(*)::int FROM mine) AS total,
           (SELECT coalesce(string_agg(body, ',' ORDER BY id), '')
            FROM (SELECT id, body FROM mine ORDER BY id LIMIT $4 OFFSET $5) AS page) AS bodies`,
};
const allInScope = {
  name: 'rrset-all',
  text: `SELECT name, type, body, first_seen_at AS "firstSeenAt" FROM dns_rrset WHERE ${inScope}`,
};

/** Reads of the mirror. Each takes the team, costs one prepared statement, and no upstream call. */
export const mirrorStore = (db: Pool | Queryable) => ({
  async findZone(name: string): Promise<ZoneRecord | null> {
    const { rows } = await db.query<ZoneRecord>({ ...findZoneByName, values: [name] });
    return rows[0] ?? null;
  },

  /** The body of one set, null when the scope has none by that name and type. */
  async findRrset({ zoneId, teamSlug, root }: RrsetScope, name: string, type: string): Promise<string | null> {
    if (!isAtOrBelow(name, root)) return null;
    const { rows } = await db.query<{ body: string }>({ ...findRrsetBody, values: [zoneId, teamSlug, name, type] });
    return rows[0]?.body ?? null;
  },

  /** One page in the order of ids (`name/TYPE`, by bytes), as JSON texts joined by commas. `offset` counts from 0. */
  async pageRrsets(scope: RrsetScope, limit: number, offset: number): Promise<{ total: number; bodies: string }> {
    const { rows } = await db.query<{ total: number; bodies: string }>({
      ...pageOfBodies,
      values: [scope.zoneId, scope.teamSlug, scope.root, limit, offset],
    });
    return rows[0] as { total: number; bodies: string };
  },

  /** Every set of the scope, for the filters that SQL does not serve. Bounded by the team's quota. */
  async listRrsets({ zoneId, teamSlug, root }: RrsetScope): Promise<MirroredRrset[]> {
    const { rows } = await db.query<MirroredRrset>({ ...allInScope, values: [zoneId, teamSlug, root] });
    return rows;
  },
});
export type MirrorStore = ReturnType<typeof mirrorStore>;
