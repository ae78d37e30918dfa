import { CorralError, isCorralError } from '@corral/client';
import type { Rrset } from '@corral/contracts';
import { classifyFailure, contentOf, type Failure, type SetApi, type SetContent } from '@corral/record-changes';
import type { DnsZone } from './dns-zone.js';

interface Started {
  readonly body: { readonly action?: { readonly id: number; readonly status: string } };
}

const SIGNED_OUT = 'The DNS token is not accepted any more.';

/** The record sets of a zone, for `applyChanges`. A write that was begun is not interrupted: it is waited for. */
export function setApiOf({ client, zone: { name: zone } }: Pick<DnsZone, 'client' | 'zone'>): SetApi {
  const pathOf = ({ name, type }: { readonly name: string; readonly type: string }) => ({ zone, name, type });
  const started = async (answer: Promise<Started>): Promise<number | null> => {
    const { action } = (await answer).body;
    return action === undefined || action.status === 'success' ? null : action.id;
  };
  const sent = (records: SetContent['records']) =>
    records.map(({ value, comment }) => (comment === null ? { value } : { value, comment }));
  return {
    read: (id) =>
      readSet({ client, zone: { name: zone } }, id).then((rrset) => (rrset === null ? null : contentOf(rrset))),
    create: ({ name, type }, { records, ttl, labels }) =>
      started(client.createRrset({ zone }, { body: { name, type, ttl, labels, records: sent(records) } })),
    setRecords: (id, records) => started(client.setRecords(pathOf(id), { body: { records: sent(records) } })),
    changeTtl: (id, ttl) => started(client.changeTtl(pathOf(id), { body: { ttl } })),
    changeLabels: async (id, labels) => {
      await client.updateRrset(pathOf(id), { body: { labels } });
      return null;
    },
    remove: (id) => started(client.deleteRrset(pathOf(id))),
    async untilEnded(action) {
      const { status, error } = await client.waitForAction(action);
      return status === 'error' ? (error?.message ?? 'The provider could not carry it out.') : null;
    },
  };
}

/** @returns null when the set does not exist, or the token cannot read it */
export async function readSet(
  { client, zone }: { readonly client: DnsZone['client']; readonly zone: { readonly name: string } },
  { name, type }: { readonly name: string; readonly type: string },
): Promise<Rrset | null> {
  try {
    return (await client.getRrset({ zone: zone.name, name, type })).body.rrset as Rrset;
  } catch (error) {
    if (isCorralError(error) && error.status === 404) return null;
    throw error;
  }
}

/** What a failed request means for a run. @throws an error that is no failed request */
export function classify(error: unknown): Failure {
  if (!(error instanceof CorralError)) throw error;
  const { status, code, message, retryAfterMs, errors: fields } = error;
  const retryAfterSeconds = retryAfterMs === null ? null : Math.ceil(retryAfterMs / 1_000);
  return classifyFailure({ status, code, message, retryAfterSeconds, fields }, SIGNED_OUT);
}
