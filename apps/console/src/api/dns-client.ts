import type { Rrset, TokenBody } from '@corral/contracts';
import type { Answer } from './client.js';
import { change } from './client.js';
import { isProblem, noAnswer, problemOf } from './problem.js';

/** The DNS session of a team, see `POST …/dns-session/`. The token stays in memory. */
export interface DnsSession {
  readonly endpoint: string;
  readonly zone: string;
  readonly token: string;
  readonly expiresAt: string;
}

/** A token is renewed this long before it expires. */
const RENEW_BEFORE_MS = 120_000;
const PAGE_SIZE = 50;

export interface DnsClient {
  /** The endpoint and zone of the team, with a token that is still valid. */
  readonly session: () => Promise<DnsSession>;
  /** @param path below the endpoint, such as `/zones/{zone}/rrsets`; `{zone}` is filled in */
  readonly request: <T>(
    method: string,
    path: string,
    options?: { readonly body?: unknown; readonly signal?: AbortSignal },
  ) => Promise<Answer<T>>;
  readonly listRrsets: (signal?: AbortSignal) => Promise<Rrset[]>;
}

const clients = new Map<string, DnsClient>();

/** One client per team, so that all requests share one token. */
export function dnsClientOf(team: string): DnsClient {
  const known = clients.get(team);
  if (known !== undefined) return known;
  const client = dnsClient({ start: () => startSession(team), now: Date.now });
  clients.set(team, client);
  return client;
}

/** Discards all tokens, for a sign-out. */
export const forgetDnsSessions = (): void => clients.clear();

async function startSession(team: string): Promise<DnsSession> {
  const { body } = await change('post', '/api/v1/teams/{team}/dns-session/', { team });
  return body;
}

export interface DnsClientDeps {
  readonly start: () => Promise<DnsSession>;
  /** Unix time in ms. */
  readonly now: () => number;
}

/** A client of the DNS API that renews its token once for all requests that wait for it. */
export function dnsClient({ start, now }: DnsClientDeps): DnsClient {
  let current: Promise<DnsSession> | null = null;
  let renewAt = Number.NEGATIVE_INFINITY;

  function session(): Promise<DnsSession> {
    if (current !== null && now() < renewAt) return current;
    const begun = start();
    current = begun;
    // While it is being fetched, everybody waits for this one.
    renewAt = Number.POSITIVE_INFINITY;
    begun.then(
      ({ expiresAt }) => {
        if (current === begun) renewAt = Date.parse(expiresAt) - RENEW_BEFORE_MS;
      },
      () => {
        if (current === begun) current = null;
      },
    );
    return begun;
  }

  async function request<T>(
    method: string,
    path: string,
    options: { readonly body?: unknown; readonly signal?: AbortSignal } = {},
  ): Promise<Answer<T>> {
    const used = session();
    try {
      return await send<T>(await used, method, path, options);
    } catch (error) {
      if (!isProblem(error) || error.status !== 401 || current !== used) throw error;
      // The token may have been revoked, or expired by the server's clock.
      current = null;
      return send<T>(await session(), method, path, options);
    }
  }

  async function listRrsets(signal?: AbortSignal): Promise<Rrset[]> {
    const rrsets: Rrset[] = [];
    let page: number | null = 1;
    while (page !== null) {
      const answer: Answer<RrsetPage> = await request<RrsetPage>(
        'GET',
        `/zones/{zone}/rrsets?per_page=${PAGE_SIZE}&page=${page}`,
        signal === undefined ? {} : { signal },
      );
      rrsets.push(...answer.body.rrsets);
      page = answer.body.meta.pagination.next_page;
    }
    return rrsets;
  }

  return { session, request, listRrsets };
}

interface RrsetPage {
  readonly rrsets: Rrset[];
  readonly meta: { readonly pagination: { readonly next_page: number | null } };
}

/** What a token says about itself. @throws ApiProblem with 401 for one that is not valid */
export async function readToken(endpoint: string, token: string): Promise<TokenBody> {
  const { body } = await send<{ token: TokenBody }>({ endpoint, zone: '', token }, 'GET', '/token', {});
  return body.token;
}

async function send<T>(
  { endpoint, zone, token }: Omit<DnsSession, 'expiresAt'>,
  method: string,
  path: string,
  { body, signal }: { readonly body?: unknown; readonly signal?: AbortSignal },
): Promise<Answer<T>> {
  const response = await fetch(`${endpoint}${path.replace('{zone}', encodeURIComponent(zone))}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    credentials: 'omit',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw noAnswer(error);
  });
  if (!response.ok) throw await problemOf(response);
  const text = await response.text().catch((error: unknown) => {
    throw noAnswer(error);
  });
  return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as T, etag: null };
}
