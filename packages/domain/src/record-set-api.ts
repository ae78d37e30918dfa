import { type CorralDnsClient, isCorralError } from '@corral/client';
import type { Failure, SetApi } from './apply.js';
import { contentOf } from './plan.js';
import { createBody, recordsBody } from './set-steps.js';

/** The record sets that a token can write. */
export interface WritableZone {
  readonly client: Pick<
    CorralDnsClient,
    'getRrset' | 'createRrset' | 'updateRrset' | 'deleteRrset' | 'setRecords' | 'changeTtl' | 'waitForAction'
  >;
  /** Name of the zone. */
  readonly zone: string;
}

interface Started {
  readonly body: { readonly action?: { readonly id: number; readonly status: string } };
}

const CONFLICT_SECONDS = 2;

/** The record sets of one zone through the DNS API. @param connect the same zone each time */
export function recordSetApi(connect: () => Promise<WritableZone>): SetApi {
  const idIn = (zone: string, { name, type }: { readonly name: string; readonly type: string }) => ({
    zone,
    name,
    type,
  });
  const started = async (answer: Promise<Started>): Promise<number | null> => {
    const { action } = (await answer).body;
    return action === undefined || action.status === 'success' ? null : action.id;
  };
  return {
    async read(id) {
      const { client, zone } = await connect();
      try {
        return contentOf((await client.getRrset(idIn(zone, id))).body.rrset);
      } catch (error) {
        if (isCorralError(error) && error.status === 404) return null;
        throw error;
      }
    },
    async create(id, content) {
      const { client, zone } = await connect();
      return started(client.createRrset({ zone }, { body: createBody(id, content) }));
    },
    async setRecords(id, records) {
      const { client, zone } = await connect();
      return started(client.setRecords(idIn(zone, id), { body: { records: recordsBody(records) } }));
    },
    async changeTtl(id, ttl) {
      const { client, zone } = await connect();
      return started(client.changeTtl(idIn(zone, id), { body: { ttl } }));
    },
    async changeLabels(id, labels) {
      const { client, zone } = await connect();
      await client.updateRrset(idIn(zone, id), { body: { labels } });
      return null;
    },
    async remove(id) {
      const { client, zone } = await connect();
      return started(client.deleteRrset(idIn(zone, id)));
    },
    async untilEnded(action) {
      const { client } = await connect();
      try {
        const { status, error } = await client.waitForAction(action);
        return status === 'error' ? (error?.message ?? 'The provider could not carry it out.') : null;
      } catch (error) {
        if (!isCorralError(error) || error.code !== 'timeout') throw error;
        return 'The provider has not ended it yet. Check the set again later.';
      }
    },
  };
}

/**
 * What a failed request means for a run.
 *
 * @param signedOut the sentence for a token that is not accepted any more
 * @throws an error that is no failed request
 */
export function classifyFailure(error: unknown, signedOut: string): Failure {
  if (!isCorralError(error)) throw error;
  const { status, code, detail, retryAfterMs, errors } = error;
  if (status === 401) return { kind: 'stop', detail: signedOut };
  const mustWait = status === 429 || status === 503 || (status === 409 && code === 'conflict') || code === 'locked';
  if (mustWait) {
    return {
      kind: 'wait',
      seconds: retryAfterMs === null ? CONFLICT_SECONDS : Math.ceil(retryAfterMs / 1_000),
      detail,
    };
  }
  if (error.isUnknownOutcome || status >= 500) return { kind: 'unknown', detail };
  // The upstream's sentence often has that of the field in it.
  const more = errors.map(({ message }) => message).filter((message) => !detail.includes(message));
  return { kind: 'refused', detail: [detail, ...new Set(more)].join(' ') };
}
