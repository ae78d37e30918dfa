import type { Rrset } from '@corral/contracts';
import { type DnsClient, dnsClientOf } from '../api/dns-client.js';
import { isProblem } from '../api/problem.js';
import type { Failure, SetApi } from './apply.js';
import { contentOf, type SetContent } from './plan.js';

interface Action {
  readonly id: number;
  readonly status: 'running' | 'success' | 'error';
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** The API's reads of actions wait for up to three seconds by themselves. */
const POLL_MS = 200;
const POLLS_MAX = 600;
const CONFLICT_SECONDS = 2;

/** The record sets of a team through the DNS API. */
export function dnsSetApi(team: string, client: DnsClient = dnsClientOf(team)): SetApi {
  const pathOf = ({ name, type }: { readonly name: string; readonly type: string }) =>
    `/zones/{zone}/rrsets/${encodeURIComponent(name)}/${encodeURIComponent(type)}`;
  const started = async (method: string, path: string, body?: unknown): Promise<number | null> => {
    const answer = await client.request<{ readonly action?: Action }>(method, path, body === undefined ? {} : { body });
    const { action } = answer.body ?? {};
    return action === undefined || action.status === 'success' ? null : action.id;
  };
  const sent = (records: SetContent['records']) =>
    records.map(({ value, comment }) => (comment === null ? { value } : { value, comment }));
  return {
    async read(id) {
      try {
        const { body } = await client.request<{ readonly rrset: Rrset }>('GET', pathOf(id));
        return contentOf(body.rrset);
      } catch (error) {
        if (isProblem(error) && error.status === 404) return null;
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
    setRecords: (id, records) => started('POST', `${pathOf(id)}/actions/set_records`, { records: sent(records) }),
    changeTtl: (id, ttl) => started('POST', `${pathOf(id)}/actions/change_ttl`, { ttl }),
    changeLabels: (id, labels) => started('PUT', pathOf(id), { labels }),
    remove: (id) => started('DELETE', pathOf(id)),
    async untilEnded(action) {
      for (let poll = 0; poll < POLLS_MAX; poll += 1) {
        const { body } = await client.request<{ readonly action: Action }>('GET', `/actions/${action}`);
        const { status, error } = body.action;
        if (status === 'success') return null;
        if (status === 'error') return error?.message ?? 'The provider could not carry it out.';
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
      return 'The provider has not ended it yet. Check the set again later.';
    },
  };
}

/** @param error what a request threw */
export function classifyDnsFailure(error: unknown): Failure {
  if (!isProblem(error)) throw error;
  const { status, code, message: detail, retryAfterSeconds, isUnknownOutcome } = error;
  if (status === 401) return { kind: 'stop', detail: 'Your session has ended. Sign in and resume.' };
  if (status === 429 || status === 503) return { kind: 'wait', seconds: retryAfterSeconds ?? CONFLICT_SECONDS, detail };
  if ((status === 409 && code === 'conflict') || code === 'locked') {
    return { kind: 'wait', seconds: retryAfterSeconds ?? CONFLICT_SECONDS, detail };
  }
  if (isUnknownOutcome || status >= 500) return { kind: 'unknown', detail };
  return {
    kind: 'refused',
    detail: error.fields.length > 0 ? `${detail} ${error.fields.map((f) => f.message).join(' ')}` : detail,
  };
}
