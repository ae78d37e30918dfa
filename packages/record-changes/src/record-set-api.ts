import type { Action, Rrset } from '@corral/contracts';
import type { Failure, SetApi } from './apply.js';
import { contentOf, type SetContent } from './plan.js';

/** A refusal of the DNS API, or a request without an answer, as the caller's client reports it. */
export interface DnsFailure {
  /** Of the answer; 0 when there was none. */
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly retryAfterSeconds: number | null;
  readonly fields: readonly { readonly message: string }[];
}

export interface RecordSetRequests {
  /** @param path below the endpoint, such as `/zones/{zone}/rrsets`; `{zone}` is filled in by the client */
  readonly request: (method: string, path: string, body?: unknown) => Promise<unknown>;
  /** @returns null for an error that is no failed request */
  readonly failureOf: (error: unknown) => DnsFailure | null;
  readonly sleep: (ms: number) => Promise<void>;
}

/** The API's reads of actions wait for up to three seconds by themselves. */
const POLL_MS = 200;
const POLLS_MAX = 600;
const CONFLICT_SECONDS = 2;

export const pathOfSet = ({ name, type }: { readonly name: string; readonly type: string }): string =>
  `/zones/{zone}/rrsets/${encodeURIComponent(name)}/${encodeURIComponent(type)}`;

/** The record sets of one zone through the DNS API. */
export function recordSetApi({ request, failureOf, sleep }: RecordSetRequests): SetApi {
  const started = async (method: string, path: string, body?: unknown): Promise<number | null> => {
    const { action } = ((await request(method, path, body)) ?? {}) as { readonly action?: Action };
    return action === undefined || action.status === 'success' ? null : action.id;
  };
  const sent = (records: SetContent['records']) =>
    records.map(({ value, comment }) => (comment === null ? { value } : { value, comment }));
  return {
    async read(id) {
      try {
        const { rrset } = (await request('GET', pathOfSet(id))) as { readonly rrset: Rrset };
        return contentOf(rrset);
      } catch (error) {
        if (failureOf(error)?.status === 404) return null;
        throw error;
      }
    },
    create: ({ name, type }, { records, ttl, labels }) =>
      started('POST', '/zones/{zone}/rrsets', {
        name,
        type,
        records: sent(records),
        ...(ttl === null ? {} : { ttl }),
        ...(Object.keys(labels).length === 0 ? {} : { labels }),
      }),
    setRecords: (id, records) => started('POST', `${pathOfSet(id)}/actions/set_records`, { records: sent(records) }),
    changeTtl: (id, ttl) => started('POST', `${pathOfSet(id)}/actions/change_ttl`, { ttl }),
    changeLabels: (id, labels) => started('PUT', pathOfSet(id), { labels }),
    remove: (id) => started('DELETE', pathOfSet(id)),
    async untilEnded(id) {
      for (let poll = 0; poll < POLLS_MAX; poll += 1) {
        const { action } = (await request('GET', `/actions/${id}`)) as { readonly action: Action };
        if (action.status === 'success') return null;
        if (action.status === 'error') return action.error?.message ?? 'The provider could not carry it out.';
        await sleep(POLL_MS);
      }
      return 'The provider has not ended it yet. Check the set again later.';
    },
  };
}

/**
 * What a failed request means for a run.
 *
 * @param signedOut the sentence for a token that is not accepted any more
 */
export function classifyFailure(failure: DnsFailure, signedOut: string): Failure {
  const { status, code, message: detail, retryAfterSeconds, fields } = failure;
  if (status === 401) return { kind: 'stop', detail: signedOut };
  const mustWait = status === 429 || status === 503 || (status === 409 && code === 'conflict') || code === 'locked';
  if (mustWait) return { kind: 'wait', seconds: retryAfterSeconds ?? CONFLICT_SECONDS, detail };
  if (status === 0 || status >= 500) return { kind: 'unknown', detail };
  return {
    kind: 'refused',
    detail: fields.length > 0 ? `${detail} ${fields.map(({ message }) => message).join(' ')}` : detail,
  };
}
