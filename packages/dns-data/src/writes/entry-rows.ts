import { asTeamId } from '@corral/contracts';
import type { RrsetKey, RrsetOwner } from './rrset-write.js';

/** The set of an entry, as a statement of ours returns it. */
export interface KeyRow {
  readonly id: bigint;
  readonly zone_id: bigint;
  readonly name: string;
  readonly type: string;
}

export const entryKey = ({ zone_id, name, type }: Omit<KeyRow, 'id'>): RrsetKey => ({
  zoneId: Number(zone_id),
  name,
  type,
});

export interface OwnedEntryRow extends KeyRow {
  readonly team_id: string | null;
  readonly demo_id: string | null;
}

/** The owner of a write. Every write has one. */
export function entryOwner({ team_id: team, demo_id: demo }: Pick<OwnedEntryRow, 'team_id' | 'demo_id'>): RrsetOwner {
  const teamId = team === null ? null : asTeamId(team);
  return demo === null ? { kind: 'team', id: team as string, teamId } : { kind: 'demo', id: demo, teamId };
}
