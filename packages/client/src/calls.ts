import { CorralError } from './corral-error.js';
import { newIdempotencyKey } from './idempotency-key.js';
import type { Answer, OperationRef } from './operation-types.js';
import type { Incoming, Outgoing, Transport } from './transport.js';

/** What the client knows of an operation at run time. */
interface OperationRow {
  readonly method: string;
  readonly path: string;
  /** Accepts `Idempotency-Key`. */
  readonly idempotent?: true;
  /** Accepts `limit` and `cursor`. */
  readonly paged?: true;
  /** Its body is a form. */
  readonly form?: true;
}
export type OperationTable = Readonly<Record<string, OperationRow>>;

export type Params = Readonly<Record<string, string | number>>;
type Query = Readonly<Record<string, unknown>>;

/** The options of all operations; the types of each allow those that it has. */
export interface AnyOptions {
  readonly body?: unknown;
  readonly query?: Query | undefined;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly prefer?: string | undefined;
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly holdMs?: number | undefined;
}

/** One function per row of the table. */
export const methodsOf = (table: OperationTable, transport: Transport): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(table).map((id) => [
      id,
      (params: Params = {}, options: AnyOptions = {}) => call(transport, table, id, params, options),
    ]),
  );

/** @throws CorralError, or the reason of an aborted signal */
export async function call(
  transport: Transport,
  table: OperationTable,
  id: string,
  params: Params,
  options: AnyOptions,
): Promise<Answer> {
  return answerOf(id, await transport.send(outgoingOf(table, id, params, options)));
}

export function outgoingOf(table: OperationTable, id: string, params: Params, options: AnyOptions): Outgoing {
  const { method, path, idempotent, form } = table[id] as OperationRow;
  const { body, signal, timeoutMs, holdMs } = options;
  const key = idempotent ? (options.idempotencyKey ?? newIdempotencyKey()) : undefined;
  const headers = {
    Accept: options.accept ?? 'application/json',
    'Content-Type': body === undefined ? undefined : form ? 'application/x-www-form-urlencoded' : 'application/json',
    'If-Match': options.ifMatch,
    'If-None-Match': options.ifNoneMatch,
    'Idempotency-Key': key,
    Prefer: options.prefer,
  };
  return {
    operationId: id,
    method,
    path: `${filled(id, path, params)}${queryText(options.query ?? {})}`,
    headers: Object.fromEntries(Object.entries(headers).filter(hasValue)),
    body: body === undefined ? undefined : form ? formText(body as Query) : JSON.stringify(body),
    isRepeatable: method !== 'POST' || key !== undefined,
    signal,
    timeoutMs,
    holdMs,
  };
}

const hasValue = (entry: [string, string | undefined]): entry is [string, string] => entry[1] !== undefined;

/** A segment `..` would select another operation. */
function filled(operationId: string, path: string, params: Params): string {
  return path.replace(/\{([^}]+)\}/g, (_all, name: string) => {
    const value = String(params[name] ?? '');
    if (value !== '' && value !== '.' && value !== '..') return encodeURIComponent(value);
    const detail = `The parameter ${name} is missing or not valid.`;
    throw new CorralError({ status: 0, code: 'invalid_request', detail, operationId });
  });
}

function queryText(query: Query): string {
  const text = formText(query);
  return text === '' ? '' : `?${text}`;
}

/** A list is given as one parameter per value. */
const formText = (given: Query): string =>
  new URLSearchParams(
    Object.entries(given).flatMap(([name, value]) =>
      [value].flat().flatMap((each) => (each === undefined || each === null ? [] : [[name, String(each)]])),
    ),
  ).toString();

function answerOf(operationId: string, { status, headers, text }: Incoming): Answer {
  const requestId = headers.get('X-Correlation-Id');
  return {
    status,
    body: text === '' ? undefined : bodyOf(text, { status, operationId, requestId }),
    etag: headers.get('ETag'),
    operation: operationRefOf(headers.get('Operation-Location')),
    servedAt: timeOf(headers.get('Date')),
    requestId,
  };
}

function timeOf(date: string | null): Date | null {
  const ms = Date.parse(date ?? '');
  return Number.isNaN(ms) ? null : new Date(ms);
}

export function bodyOf(text: string, of: { readonly status: number } & Partial<CorralError>): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CorralError({ ...of, code: 'unreadable', detail: 'The answer is not JSON. Check the base URL.' });
  }
}

/** The operation that a URL of the cluster API names. Its host does not matter: requests go to the base URL only. */
export function operationRefOf(url: string | null): OperationRef | null {
  const [, team, id] = /\/teams\/([^/?#]+)\/operations\/([^/?#]+)\/?$/.exec(url ?? '') ?? [];
  return team === undefined || id === undefined ? null : { team: decodeURIComponent(team), id: decodeURIComponent(id) };
}

export async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
