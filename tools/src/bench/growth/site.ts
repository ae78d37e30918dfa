import { Agent } from 'node:http';
import type { Pool } from '@corral/database';
import { exchange } from '../load/exchange.js';

/** One of the two installations that are compared: a database, and the services on it. */
export interface Site {
  readonly name: 'small' | 'large';
  readonly pool: Pool;
  /** Base URLs by the name of the API. */
  readonly urls: Readonly<Record<Api, string>>;
  /** What both have from the same seed: cookies, tokens, ids. */
  readonly seeded: Seeded;
  /** What earlier requests were answered, by a name. */
  readonly kept: Map<string, string>;
  send(asked: Asked): Promise<Answer>;
}

export type Api = 'cluster' | 'dns';

export interface Seeded {
  readonly team: string;
  readonly teamNumber: number;
  /** Cookies of an administrator, and of somebody who is invited. */
  readonly cookies: { readonly admin: string; readonly guest: string };
  readonly dnsToken: string;
  readonly ids: Readonly<Record<string, string>>;
  /** The time of the newest seeded entry of the audit log. */
  readonly newestAt: Date;
}

/** A request, without the installation that it is for. */
export interface Asked {
  readonly api: Api;
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  /** JSON, or a form. */
  readonly body?: object | URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the administrator, or the token of the DNS API. */
  readonly as?: 'guest' | 'nobody';
  /** An endless answer has arrived with its first bytes, and is then left. */
  readonly isEndless?: boolean;
}

export interface Answer {
  readonly ms: number;
  readonly text: string;
  readonly location: string;
}

/** Sends over one kept connection. @throws Error unless it is answered with a success or a redirection */
export function sender(site: Pick<Site, 'urls' | 'seeded'>): Site['send'] {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return async (asked) => {
    const { api, method, path, isEndless = false } = asked;
    const { text: sent, headers } = encoded(asked, site.seeded, site.urls[api]);
    const begunAt = performance.now();
    const { status, text, location } = await exchange(
      { url: `${site.urls[api]}${path}`, method, headers, sent, isEndless },
      agent,
    );
    const ms = performance.now() - begunAt;
    if (status >= 400) throw new Error(`${method} ${path} was answered ${status}: ${text}`);
    return { ms, text, location };
  };
}

function encoded({ api, body, headers = {}, as }: Asked, { cookies, dnsToken }: Seeded, url: string) {
  const own: Record<string, string> = { ...headers };
  if (as !== 'nobody' && own.authorization === undefined) {
    if (api === 'dns') own.authorization = `Bearer ${dnsToken}`;
    else own.cookie = as === 'guest' ? cookies.guest : cookies.admin;
  }
  if (body === undefined) return { headers: own, text: '' };
  if (body instanceof URLSearchParams) own.origin = url;
  const text = body instanceof URLSearchParams ? String(body) : JSON.stringify(body);
  own['content-type'] = body instanceof URLSearchParams ? 'application/x-www-form-urlencoded' : 'application/json';
  return { headers: own, text };
}
