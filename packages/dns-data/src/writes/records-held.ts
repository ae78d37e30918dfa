import type { Pool } from '@corral/database';

/*
 * What counts against an owner's quota of records, as SQL expressions. Parameters are expressions too. They are correct together
 * only in one snapshot.
 */

export const mirroredRecords = (zoneId: string, ownerLabel: string): string =>
  `(SELECT coalesce(sum(record_count), 0)::int FROM dns_rrset WHERE zone_id = ${zoneId} AND owner_label = ${ownerLabel})`;

/** Of a team: those in the zone of the teams, none of which is a demo's. */
export const recordsOfTeam = (slug: string): string =>
  `(SELECT coalesce(sum(record_count), 0)::int FROM dns_rrset JOIN dns_zone ON dns_zone.id = zone_id
    WHERE NOT of_demos AND owner_label = ${slug})`;

/** Records that pending writes may add. */
export const reservedRecords = (ownerId: string): string =>
  `(SELECT coalesce(sum(reserved_records), 0)::int FROM dns_audit_entry
     WHERE coalesce(demo_id, team_id) = ${ownerId} AND state = 'pending')`;

/** Record sets with actions that may still fail: `high.ceiling` is how many records each may then have. */
export const ceilingsOf = (ownerId: string): string =>
  `(SELECT zone_id, name, type, max(records_ceiling) AS ceiling FROM dns_audit_entry
    WHERE coalesce(demo_id, team_id) = ${ownerId} AND records_ceiling IS NOT NULL
    GROUP BY zone_id, name, type) AS high
   LEFT JOIN dns_rrset AS rrset USING (zone_id, name, type)
   LEFT JOIN (SELECT zone_id, name, type, reserved_records FROM dns_audit_entry WHERE state = 'pending') AS pending
     USING (zone_id, name, type)`;

/** Whether `ceilingsOf` has any. */
export const holdsByActions = (ownerId: string): string =>
  `EXISTS (SELECT FROM dns_audit_entry WHERE coalesce(demo_id, team_id) = ${ownerId} AND records_ceiling IS NOT NULL)`;

/** Of `ceilingsOf`: records beyond those mirrored and reserved that reappear if the actions fail. */
export const heldByActions = `coalesce(sum(greatest(0, high.ceiling - coalesce(rrset.record_count, 0)
                                          - coalesce(pending.reserved_records, 0))), 0)::int`;

/** A token, and how much of its owner's quota is used. */
export interface TokenUse {
  readonly name: string;
  readonly createdAt: Date;
  /** Belongs to the session of a person. */
  readonly isOfSession: boolean;
  /** Records in the mirror. */
  readonly used: number;
  /** Records of writes whose outcome, or whose action's outcome, is open. */
  readonly reserved: number;
  /** The team's own quota; null for that of the installation. */
  readonly recordsMax: number | null;
}

const readUse = {
  name: 'token-use',
  text: `SELECT token.name, token.created_at AS "createdAt", token.session_id IS NOT NULL AS "isOfSession",
                ${mirroredRecords('$2', '$3')} AS used,
                ${reservedRecords('$4')} + (SELECT ${heldByActions} FROM ${ceilingsOf('$4')}) AS reserved,
                (SELECT dns_records_max FROM team WHERE team.id = token.team_id) AS "recordsMax"
         FROM dns_token AS token
         WHERE token.id = $1 AND coalesce(token.demo_id, token.team_id) = $4`,
};

export interface TokenOfOwner {
  readonly tokenId: string;
  readonly ownerId: string;
  readonly ownerLabel: string;
}

/** Reads a token with the use of its owner's quota in one prepared statement. Null when the owner has no such token. */
export type ReadTokenUse = (token: TokenOfOwner, zoneId: number) => Promise<TokenUse | null>;

export const tokenUseReader =
  (pool: Pick<Pool, 'query'>): ReadTokenUse =>
  async ({ tokenId, ownerId, ownerLabel }, zoneId) => {
    const { rows } = await pool.query<TokenUse>({ ...readUse, values: [tokenId, zoneId, ownerLabel, ownerId] });
    return rows[0] ?? null;
  };
