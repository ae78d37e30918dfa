import { createHash } from 'node:crypto';
import { retryAfterMs } from '@corral/admission';
import type { AnswerHeaders } from '@corral/service';
import { printable } from '../calls.js';
import { type Exchange, errorCodeOf, type JsonBody, type Outgoing, openWire, readJsonObject } from '../exchange.js';
import {
  type ActionReading,
  type Architecture,
  type ImageReading,
  type Labels,
  parseAction,
  parseImages,
  parseIsAny,
  parseServer,
  parseServerActions,
  parseServers,
  providerArchitecture,
  type ServerReading,
} from './readings.js';

const PAUSE_MS_MIN = 1_000;
/** The time in `RateLimit-Reset` is that of the full bucket. It refills steadily, and no caller needs all of it. */
const PAUSE_MS_MAX = 60_000;

interface Pauses {
  /** Milliseconds until the project may be asked again; 0 when it may. */
  leftMs(project: string): number;
  /** The project's budget is used up. @returns for how long it is left alone */
  begin(project: string, headers: AnswerHeaders): number;
}

interface PauseOptions {
  /** Wall clock, for the points of time in headers. */
  readonly now?: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly tick?: () => number;
  /** A number from 0 to 1. */
  readonly random?: () => number;
}

/** Projects whose budget is used up: they are left alone one by one, and the others go on. */
function pauses({ now = Date.now, tick = () => performance.now(), random = Math.random }: PauseOptions = {}): Pauses {
  const until = new Map<string, number>();
  return {
    leftMs(project) {
      const leftMs = (until.get(project) ?? 0) - tick();
      if (leftMs > 0) return Math.ceil(leftMs);
      until.delete(project);
      return 0;
    },
    begin(project, headers) {
      const resetsAt = Number(headers['ratelimit-reset'] ?? Number.NaN) * 1_000;
      const wantedMs = retryAfterMs(headers, now()) ?? (Number.isNaN(resetsAt) ? PAUSE_MS_MIN : resetsAt - now());
      // Jitter keeps replicas and projects from coming back together.
      const ms = Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, wantedMs)) * (1 + random() / 4);
      until.set(project, tick() + ms);
      return Math.ceil(ms);
    },
  };
}

/** What is done in a customer's project. One call each, no repetition: the caller decides what comes after. */
export interface ProjectClient {
  readServer(id: number): Promise<ProjectOutcome<ServerReading>>;
  /** The first `count` by name of the servers that do not have the label. @param count at most 50 */
  listServersWithout(label: string, count: number): Promise<ProjectOutcome<ServerReading[]>>;
  /** Whether there is a server whose label has one of the values. */
  hasServerWith(label: string, values: readonly string[]): Promise<ProjectOutcome<boolean>>;
  /** The newest 50, newest first. */
  listServerActions(id: number): Promise<ProjectOutcome<ActionReading[]>>;
  readAction(id: number): Promise<ProjectOutcome<ActionReading>>;
  /** Replaces all labels: the provider knows no other way, and no precondition. Read them just before. */
  putLabels(id: number, labels: Labels): Promise<ProjectOutcome<ServerReading>>;
  /** `value` is null when the provider has no such image. */
  findSystemImage(name: string, architecture: Architecture): Promise<ProjectOutcome<ImageReading | null>>;
  /**
   * Wipes the server. Without user data the provider would take that of the last time, so there is always some. The
   * password in the answer, of a server that was made without SSH keys, goes no further than the parser.
   */
  rebuild(id: number, order: { imageId: number; userData: string }): Promise<ProjectOutcome<ActionReading>>;
}

export interface ProjectsOptions extends PauseOptions {
  /** The address with the version, e.g. `https://api.hetzner.cloud/v1`. */
  readonly baseUrl: string;
  /** The limit of one call, from start to last byte. */
  readonly timeoutMs: number;
}

export interface Projects {
  /** Does something in the project of a token. Calls nothing but what `work` calls. */
  within<T>(token: string, work: (project: ProjectClient) => Promise<T>): Promise<T>;
}

/** Customers' projects, each with its own token and budget. A project that has none left is not asked for a while. */
export function connectProjects({ baseUrl, timeoutMs, ...options }: ProjectsOptions): Projects {
  const paused = pauses(options);
  return {
    async within(token, work) {
      const project = createHash('sha256').update(token).digest('hex');
      const wire = openWire({ baseUrl, token, timeoutMs });
      const send = async <T>(outgoing: Outgoing, parse: (body: JsonBody) => T | undefined) => {
        const leftMs = paused.leftMs(project);
        if (leftMs > 0) return { kind: 'throttled', retryAfterMs: leftMs } as const;
        const exchange = await wire.exchange(outgoing);
        if (exchange.kind === 'answered' && exchange.status === 429) {
          return { kind: 'throttled', retryAfterMs: paused.begin(project, exchange.headers) } as const;
        }
        return outcomeOf(exchange, parse);
      };
      try {
        return await work(projectClient(send));
      } finally {
        wire.close();
      }
    },
  };
}

type Send = <T>(outgoing: Outgoing, parse: (body: JsonBody) => T | undefined) => Promise<ProjectOutcome<T>>;

const get = (path: string): Outgoing => ({ method: 'GET', path, body: null });
const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));

function projectClient(send: Send): ProjectClient {
  return {
    readServer: (id) => send(get(`/servers/${id}`), (body) => parseServer(body, id)),
    listServersWithout(label, count) {
      const query = { label_selector: `!${label}`, sort: 'name', per_page: String(count) };
      return send(get(`/servers?${new URLSearchParams(query)}`), parseServers);
    },
    hasServerWith(label, values) {
      const selector = { label_selector: `${label} in (${values.join(',')})`, per_page: '1' };
      return send(get(`/servers?${new URLSearchParams(selector)}`), parseIsAny);
    },
    listServerActions: (id) => send(get(`/servers/${id}/actions?sort=id:desc&per_page=50`), parseServerActions),
    readAction: (id) => send(get(`/actions/${id}`), (body) => parseAction(body, id)),
    putLabels: (id, labels) =>
      send({ method: 'PUT', path: `/servers/${id}`, body: json({ labels }) }, (body) => parseServer(body, id)),
    findSystemImage(name, architecture) {
      const wanted = { type: 'system', status: 'available', name, architecture: providerArchitecture[architecture] };
      const path = `/images?${new URLSearchParams(wanted)}`;
      // `null` is an answer here, and undefined none.
      return send(get(path), (body) => parseImages(body, name, architecture));
    },
    rebuild: (id, { imageId, userData }) =>
      send(
        { method: 'POST', path: `/servers/${id}/actions/rebuild`, body: json({ image: imageId, user_data: userData }) },
        (body) => parseAction(body),
      ),
  };
}

/** What a call in a customer's project came to, apart from having gone well. */
export type ProjectFailure =
  /** `404 not_found`: it is gone, or in another project. */
  | { readonly kind: 'absent' }
  /** A 4xx in the provider's shape: surely nothing happened. */
  | { readonly kind: 'refused'; readonly status: number; readonly code: string }
  /** 401, or 403 about the token: surely nothing happened. */
  | { readonly kind: 'credentials_refused'; readonly status: number; readonly code: string }
  /** The budget of the project is used up, here or at the provider: surely nothing happened. */
  | { readonly kind: 'throttled'; readonly retryAfterMs: number }
  /** Surely no byte of it left. */
  | { readonly kind: 'unreached'; readonly reason: string }
  /** 5xx, no answer, half of one, or one of another shape: a write may have happened. */
  | { readonly kind: 'uncertain'; readonly reason: string };

export type ProjectOutcome<T> =
  | {
      readonly kind: 'ok';
      readonly value: T;
      /** The provider's clock, in whole seconds, when it answered. */
      readonly at: Date;
    }
  | ProjectFailure;

const credentialCodes = new Set(['unauthorized', 'token_readonly', 'forbidden']);

/**
 * Says what a call came to. Only the provider's own words count: what has not its shape may come from anything on the
 * way, before or after the provider acted.
 *
 * @param parse gives undefined when the body is not what was asked for
 */
export function outcomeOf<T>(exchange: Exchange, parse: (body: JsonBody) => T | undefined): ProjectOutcome<T> {
  if (exchange.kind === 'broken') {
    return { kind: exchange.reached ? 'uncertain' : 'unreached', reason: exchange.reason };
  }
  const { status, headers } = exchange;
  const body = readJsonObject(exchange.body);
  if (status >= 200 && status < 300) {
    const value = body === null ? undefined : parse(body);
    const at = dateIn(headers.date);
    if (value === undefined || at === null) {
      return { kind: 'uncertain', reason: `${status} without a body of the expected shape` };
    }
    return { kind: 'ok', value, at };
  }
  const code = body === null ? null : errorCodeOf(body);
  if (code === null || status < 400) return { kind: 'uncertain', reason: `${status} without an error body` };
  if (status >= 500) return { kind: 'uncertain', reason: `${status} ${printable(code)}` };
  if (status === 404 && code === 'not_found') return { kind: 'absent' };
  if (status === 401 || (status === 403 && credentialCodes.has(code))) {
    return { kind: 'credentials_refused', status, code: printable(code) };
  }
  return { kind: 'refused', status, code: printable(code) };
}

/** Every HTTP server with a clock sends it (RFC 9110, section 6.6.1), and what we compare are its clock's times. */
function dateIn(header: string | undefined): Date | null {
  const ms = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(ms) ? null : new Date(ms);
}
