import { waitFor } from '@corral/testing';
import { expect } from '@jest/globals';
import { callDns } from '../clients/dns-api.js';
import { ownerOf } from '../crashes/dns-history.js';
import { type System, type Team, ZONE } from './start-system.js';

/** Covers the lease of a killed gateway, the job lock of a killed reconciler, and the grace period that follows. */
export const SETTLED_WITHIN_MS = 90_000;

/** Waits until no write has an unknown outcome, no recheck is due, and every action has ended. */
export async function untilSettled({ pool }: Pick<System, 'pool'>): Promise<void> {
  await waitFor(
    'every write to be settled',
    async () => {
      const { rows } = await pool.query(
        `SELECT id, name, type, operation, state, lease_until, recheck_at, clock_timestamp() AS now
         FROM dns_audit_entry AS entry
         WHERE state = 'pending' OR recheck_at IS NOT NULL
            OR EXISTS (SELECT FROM dns_action WHERE audit_entry_id = entry.id AND status = 'running') ORDER BY id`,
      );
      expect(rows).toEqual([]);
      return true;
    },
    { timeoutMs: SETTLED_WITHIN_MS },
  );
}

/** Everything that the clients of a team see, page by page: the text of each set by `name/TYPE`. */
export async function readMirror({ url }: System, { token }: Team): Promise<Record<string, string>> {
  const sets: Record<string, string> = {};
  for (let page: number | null = 1; page !== null; ) {
    const path = `/zones/${ZONE}/rrsets?per_page=10&page=${page}`;
    const { json } = await callDns(url, { method: 'GET', path, token });
    for (const rrset of json.rrsets) sets[rrset.id] = JSON.stringify(rrset);
    page = json.meta.pagination.next_page;
  }
  return sets;
}

/** The sets of a team as the upstream states them. */
export function ownSets(stated: ReadonlyMap<string, string>, { slug }: Team): Record<string, string> {
  return Object.fromEntries([...stated].filter(([id]) => ownerOf(id.split('/')[0] as string) === slug));
}
