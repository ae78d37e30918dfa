import { isObject, type JsonObject } from '@corral/contracts';
import {
  type Answered,
  type AnswerHeaders,
  type Broken,
  exchange,
  mayHaveArrived,
  openAgent,
  readJsonObject as readExactObject,
} from '@corral/service';
import { visit } from 'jsonc-parser';

export interface JsonBody {
  /** the body exactly as it came */
  text: string;
  value: JsonObject;
}

/** Reads a body that has to be a JSON object in UTF-8; null for everything else, absurd nesting included. */
export function readJsonObject(bytes: Uint8Array): JsonBody | null {
  const body = readExactObject(bytes);
  return body !== null && isShallow(body.text) ? body : null;
}

/** Whether a value is an id of the upstream, or the number of a page. */
export function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

/** Gives the code of an error body, or null when the body has not the upstream's error shape. */
export function errorCodeOf({ value }: JsonBody): string | null {
  const { error } = value;
  if (!isObject(error)) return null;
  return typeof error.code === 'string' && typeof error.message === 'string' ? error.code : null;
}

/**
 * Builds the path below the base address. Each segment stays one segment: what could lead elsewhere (`/`, `%2F`, `?`,
 * `#`) is encoded, and what an URL parser would swallow (an empty segment, `.`, `..`) is an error. `@` and `*` stay as
 * they are, as the upstream's own clients send them.
 *
 * @throws TypeError when a segment is empty, `.`, `..` or no valid Unicode
 */
export function renderPath(segments: readonly string[]): string {
  if (segments.length === 0) throw new TypeError('A path to the upstream needs at least one segment.');
  return segments.map((segment) => `/${encodeSegment(segment)}`).join('');
}

function encodeSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..') {
    throw new TypeError(`A path segment must not be ${JSON.stringify(segment)}: it would change the endpoint.`);
  }
  try {
    return encodeURIComponent(segment).replaceAll('%40', '@');
  } catch {
    throw new TypeError('A path segment must be valid Unicode: it holds half a surrogate pair.');
  }
}

const zonePattern = ['zones', '{zone}', 'rrsets', '{name}', '{type}', 'actions'];

/** Gives the pattern of a call for metrics. Nothing of a tenant gets into it, whatever the segments hold. */
export function routeOf(method: string, segments: readonly string[]): string {
  if (segments[0] !== 'zones' || segments.length > zonePattern.length + 1) return `${method} other`;
  const pattern = segments.map((segment, index) => zonePattern[index] ?? actionVerb(segment));
  return `${method} /${pattern.join('/')}`;
}

const actionVerbs = new Set(['set_records', 'add_records', 'remove_records', 'update_records', 'change_ttl']);

function actionVerb(segment: string): string {
  return actionVerbs.has(segment) ? segment : '{action}';
}

/** Whether a write only takes away: there has to be room for it under pressure, for it is what relieves quotas. */
export function isCleanup(method: string, segments: readonly string[]): boolean {
  return method === 'DELETE' || segments.at(-1) === 'remove_records';
}

export interface Outgoing {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** below the base address, encoded, with its query */
  path: string;
  body: Buffer | null;
}

export type Exchange =
  | { kind: 'answered'; status: number; headers: AnswerHeaders; body: Buffer }
  /** `reached` is false only when surely no byte of the request left: no connection was ready before it broke */
  | { kind: 'broken'; reached: boolean; reason: string };

export interface Wire {
  /**
   * Makes one HTTP call and never rejects. No repetition, no redirect, no proxy.
   *
   * @param queueMsMax how long it waits for a connection while all are busy; its own time begins when it gets one
   */
  exchange(outgoing: Outgoing, queueMsMax?: number): Promise<Exchange>;
  close(): void;
}

const bodyBytesMax = 8 * 1024 * 1024;

export interface WireOptions {
  readonly baseUrl: string;
  readonly token: string;
  /** The limit of one call, from when it has a connection, be that ready or yet to be made, to the last byte of the answer. */
  readonly timeoutMs: number;
}

/** @throws Error when the address or the token cannot be used; its text never holds the token */
export function openWire({ baseUrl, token, timeoutMs }: WireOptions): Wire {
  const server = parseBaseUrl(baseUrl);
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new Error('The token of the upstream DNS API is empty or holds spaces or control characters. Set it again.');
  }
  const agent = openAgent(server);
  const endpoint = { server, headers: { Authorization: `Bearer ${token}` }, agent };
  return {
    async exchange({ method, path, body }, queueMsMax = timeoutMs) {
      const over = new AbortController();
      const abortAfter = (ms: number) =>
        setTimeout(() => over.abort(new DOMException('No answer in time.', 'TimeoutError')), ms);
      let timer = abortAfter(queueMsMax);
      const onSocket = () => {
        clearTimeout(timer);
        timer = abortAfter(timeoutMs);
      };
      const sent = body === null ? {} : { body: { type: 'application/json', bytes: body } };
      const bounds = { signal: over.signal, bodyBytesMax, onSocket };
      const done = await exchange(endpoint, { method, path, ...sent }, bounds);
      clearTimeout(timer);
      return done.kind === 'broken' ? brokenOf(done, { queueMsMax, timeoutMs }) : checked(done, token);
    },
    close: () => agent.destroy(),
  };
}

function parseBaseUrl(text: string): URL {
  const url = new URL(text);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || !['http:', 'https:'].includes(url.protocol)) {
    throw new Error(
      'The base address of the upstream DNS API must be http(s)://host/path without user, query or hash.',
    );
  }
  return url;
}

/** Bodies are passed on to tenants, and an intermediary may echo what it refuses. Short tokens occur by chance. */
function checked(answer: Answered, token: string): Exchange {
  return token.length >= 32 && answer.body.includes(token)
    ? { kind: 'broken', reached: true, reason: 'the answer repeats our token' }
    : answer;
}

function brokenOf(broken: Broken, within: { queueMsMax: number; timeoutMs: number }): Exchange {
  return { kind: 'broken', reached: mayHaveArrived(broken), reason: reasonOf(broken, within) };
}

function reasonOf(broken: Broken, { queueMsMax, timeoutMs }: { queueMsMax: number; timeoutMs: number }): string {
  const reached = mayHaveArrived(broken);
  switch (broken.cause) {
    case 'time':
    case 'caller':
      if (broken.stage === 'queued') return `no connection was free within ${Math.round(queueMsMax)} ms`;
      return `no ${reached ? 'complete answer' : 'connection'} within ${timeoutMs} ms`;
    case 'too_large':
      return `the answer has more than ${broken.bytesMax} bytes`;
    case 'error':
      return reached ? `the connection or the answer broke (${broken.code})` : `no connection (${broken.code})`;
  }
}

/** Deeper than any body of the upstream. What lies deeper could exhaust the stack of a later reader. */
export const nestingMax = 100;

interface Child {
  /** null in an array */
  key: string | null;
  start: number;
  end: number;
}

/**
 * Gives the exact text of a top-level member of a JSON object, or null when the text is no JSON object or has no such
 * member. Of a repeated member it gives the last, as `JSON.parse` does.
 */
export function sliceMember(text: string, key: string): string | null {
  return sliceMembers(text, [key])[0] ?? null;
}

/** The same of several members in their order, for which the text is read once. */
export function sliceMembers(text: string, keys: readonly string[]): (string | null)[] {
  const children = isJson(text) && startsWith(text, '{') ? childrenOf(text) : null;
  return keys.map((key) => {
    const child = children?.findLast((each) => each.key === key);
    return child === undefined ? null : text.slice(child.start, child.end);
  });
}

/**
 * Gives the exact texts of the elements of a top-level array member of a JSON object; none when there is no such
 * array.
 */
export function sliceElements(text: string, key: string): string[] {
  const array = sliceMember(text, key);
  if (array === null || !array.startsWith('[')) return [];
  return (childrenOf(array) ?? []).map((child) => array.slice(child.start, child.end));
}

/** Tells whether valid JSON stays within `nestingMax` levels. */
export function isShallow(text: string): boolean {
  return childrenOf(text) !== null;
}

/**
 * Finds the values directly inside the object or array that `text`, valid JSON, holds; null when it is nested too
 * deeply. No syntax tree is built: that of the largest body that we accept could take a gigabyte.
 */
function childrenOf(text: string): Child[] | null {
  const children: Child[] = [];
  const tooDeep = new Error('nested too deeply');
  let depth = 0;
  let key: string | null = null;
  let start = 0;
  const add = (from: number, end: number): void => {
    if (depth === 1) children.push({ key, start: from, end });
  };
  const open = (offset: number): void => {
    if (depth === 1) start = offset;
    depth += 1;
    if (depth > nestingMax) throw tooDeep;
  };
  const close = (offset: number, length: number): void => {
    depth -= 1;
    add(start, offset + length);
  };
  try {
    visit(text, {
      onObjectBegin: open,
      onArrayBegin: open,
      onObjectEnd: close,
      onArrayEnd: close,
      onLiteralValue: (_value, offset, length) => add(offset, offset + length),
      onObjectProperty(name) {
        if (depth === 1) key = name;
      },
    });
  } catch (error) {
    if (error === tooDeep) return null;
    throw error;
  }
  return children;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function startsWith(text: string, symbol: string): boolean {
  return text.trimStart().startsWith(symbol);
}
