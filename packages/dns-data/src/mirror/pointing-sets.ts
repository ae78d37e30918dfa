import type { Transaction } from '@corral/database';
import { readRrsetBody } from '../rrset.js';

/** A record set that leads to addresses, or to a name. */
interface PointingRrset {
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  readonly values: readonly string[];
}

/** The record sets of a team of the types A, AAAA and CNAME, by name and type. */
export async function listPointingSets(db: Transaction, slug: string): Promise<PointingRrset[]> {
  const rows = await db.dnsRrset.findMany({
    where: { ownerLabel: slug, zone: { ofDemos: false }, type: { in: ['A', 'AAAA', 'CNAME'] } },
    orderBy: [{ name: 'asc' }, { type: 'asc' }, { zoneId: 'asc' }],
    select: { name: true, type: true, body: true, zone: { select: { name: true } } },
  });
  return rows.map(({ zone, body, ...set }) => ({
    ...set,
    zone: zone.name,
    values: readRrsetBody(body).records.map(({ value }) => value),
  }));
}
