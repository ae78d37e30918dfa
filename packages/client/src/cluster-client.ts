import { chunksOf, linesOf } from './answer-text.js';
import { type AnyOptions, allOf, bodyOf, call, methodsOf, operationRefOf, outgoingOf, type Params } from './calls.js';
import { CorralError, retryAfterMsOf } from './corral-error.js';
import { type FollowOptions, followEvents, type StreamMessage } from './follow-events.js';
import type { components, operations } from './generated/cluster-api.js';
import { clusterOperations } from './generated/cluster-operations.js';
import type {
  Answer,
  AnswerOf,
  BodyOf,
  CallableId,
  CallLimits,
  HeaderOf,
  MethodsOf,
  OperationRef,
  PathOf,
  QueryOf,
} from './operation-types.js';
import { type ClientOptions, createTransport, type Outgoing, type Transport } from './transport.js';
import { type Operation, type ReadOperation, type WaitOptions, waitUntilEnded } from './wait-for-operation.js';

/** The bodies of the cluster API by name, such as `ClusterSchemas['Cluster']`. */
export type ClusterSchemas = components['schemas'];
export type OperationId = CallableId<operations>;

type OkBody<Id extends OperationId> = Extract<AnswerOf<operations[Id]>, Answer<200>>['body'];
type OnePage<B> = B extends readonly (infer P)[] ? P : B;

/** The operations that answer lists. */
export type ListId = {
  [Id in OperationId]: OnePage<OkBody<Id>> extends { items: unknown[] } ? Id : never;
}[OperationId];
export type ItemOf<Id extends ListId> = OnePage<OkBody<Id>> extends { items: (infer I)[] } ? I : never;

/** The operations that answer one document per line. */
export type LinesId = {
  [Id in keyof operations]: LineOf<operations[Id]> extends never ? never : Id;
}[keyof operations];
type LineOf<Op> = Op extends { responses: { 200: { content: { 'application/x-ndjson': infer L } } } } ? L : never;

/** The operations that read a resource with an entity tag. */
export type TaggedId = {
  [Id in OperationId]: 'If-None-Match' extends HeaderOf<operations[Id]>
    ? [BodyOf<operations[Id]>] extends [never]
      ? Id
      : never
    : never;
}[OperationId];

type ListOptions<Op> = CallLimits & { readonly query?: QueryOf<Op> | undefined };

/** The cluster API: a method per operation, and what takes several requests. */
export interface CorralClient extends MethodsOf<operations, OperationId> {
  /** The items of a list, page by page. @throws CorralError */
  readonly list: <Id extends ListId>(
    id: Id,
    params: PathOf<operations[Id]>,
    options?: ListOptions<operations[Id]>,
  ) => AsyncGenerator<ItemOf<Id>, void, undefined>;
  /** All items of a list. @throws CorralError */
  readonly listAll: <Id extends ListId>(
    id: Id,
    params: PathOf<operations[Id]>,
    options?: ListOptions<operations[Id]>,
  ) => Promise<ItemOf<Id>[]>;
  /** Reads a resource unless it still has the entity tag. @returns null if it has @throws CorralError */
  readonly readIfChanged: <Id extends TaggedId>(
    id: Id,
    params: PathOf<operations[Id]>,
    etag: string,
    limits?: CallLimits,
  ) => Promise<AnswerOf<operations[Id]> | null>;
  /** The documents of an answer of many lines, while they arrive. @throws CorralError */
  readonly lines: <Id extends LinesId>(
    id: Id,
    params: PathOf<operations[Id]>,
    options?: ListOptions<operations[Id]>,
  ) => AsyncGenerator<LineOf<operations[Id]>, void, undefined>;
  /** Any request of the API, with the path as it is sent. @returns the text of the answer @throws CorralError */
  readonly request: (request: RawRequest) => Promise<string>;
  /**
   * Waits until an operation has ended: `succeeded`, `failed`, `superseded` or `cancelled`.
   *
   * @param operation of an answer, or the URL in `Operation-Location`
   * @throws CorralError `timeout` when it takes longer than `timeoutMs`; the operation goes on
   */
  readonly waitForOperation: (operation: OperationRef | string, options?: WaitOptions) => Promise<Operation>;
  /**
   * The changes of a team as they happen, until `signal` aborts. It reconnects by itself.
   *
   * @throws CorralError when the API refuses for good
   */
  readonly followEvents: (team: string, options?: FollowOptions) => AsyncGenerator<StreamMessage, void, undefined>;
}

/** A request whose path and body the caller knows. */
export interface RawRequest {
  readonly method: string;
  /** The path with its query, such as `/api/v1/me/`. */
  readonly path: string;
  /** JSON. */
  readonly body?: string | undefined;
  readonly ifMatch?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const PAGE_ITEMS = 200;
const LINE_CHARACTERS = 4 * 1_048_576;
/** The longest pause between two lines. */
const LINE_MS = 30_000;

/** Creates a client of the cluster API. It opens nothing and needs no end. @throws TypeError for an invalid `baseUrl` */
export function createClient(options: ClientOptions): CorralClient {
  const transport = createTransport(options);
  const client = {
    ...methodsOf(clusterOperations, transport),
    list: (id: ListId, params: Params, given: AnyOptions = {}) => itemsOf(transport, id, params, given),
    listAll: (id: ListId, params: Params, given: AnyOptions = {}) => allOf(itemsOf(transport, id, params, given)),
    readIfChanged: async (id: TaggedId, params: Params, etag: string, limits: CallLimits = {}) => {
      const answer = await call(transport, clusterOperations, id, params, { ...limits, ifNoneMatch: etag });
      return answer.status === 304 ? null : answer;
    },
    lines: (id: LinesId, params: Params, given: AnyOptions = {}) => documentsOf(transport, id, params, given),
    request: async (request: RawRequest) => (await transport.send(rawOutgoing(request))).text,
    waitForOperation: async (operation: OperationRef | string, given: WaitOptions = {}) =>
      waitUntilEnded(operationReader(transport), transport.pause, refOf(operation), given),
    followEvents: (team: string, given?: FollowOptions) => followEvents(transport, team, given),
  };
  // The table has exactly the operations that the types have: both are of one document.
  return client as unknown as CorralClient;
}

function rawOutgoing({ method, path, body, ifMatch, signal }: RawRequest): Outgoing {
  return {
    operationId: 'request',
    method,
    path,
    headers: {
      Accept: 'application/json',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(ifMatch === undefined ? {} : { 'If-Match': ifMatch }),
    },
    body,
    isRepeatable: method !== 'POST' && method !== 'PATCH',
    signal,
  };
}

interface Page {
  readonly items: readonly unknown[];
  readonly next?: string | null;
}

async function* itemsOf(
  transport: Transport,
  id: ListId,
  params: Params,
  options: AnyOptions,
): AsyncGenerator<unknown> {
  const isPaged = 'paged' in clusterOperations[id];
  let cursor: string | undefined;
  do {
    const query = isPaged ? { limit: PAGE_ITEMS, ...options.query, ...(cursor ? { cursor } : {}) } : options.query;
    const { body } = await call(transport, clusterOperations, id, params, { ...options, query });
    const { items, next } = (Array.isArray(body) ? body[0] : body) as Page;
    yield* items;
    if (next && next === cursor) {
      throw new CorralError({
        status: 200,
        code: 'unreadable',
        detail: 'A page names itself as the next one.',
        operationId: id,
      });
    }
    cursor = next ?? undefined;
  } while (cursor !== undefined);
}

async function* documentsOf(
  transport: Transport,
  id: LinesId,
  params: Params,
  options: AnyOptions,
): AsyncGenerator<unknown> {
  const accept = 'application/x-ndjson';
  const { response, limit } = await transport.open(outgoingOf(clusterOperations, id, params, { ...options, accept }));
  try {
    for await (const line of linesOf(chunksOf(response.body), LINE_CHARACTERS)) {
      limit.restart(LINE_MS);
      if (line !== '') yield bodyOf(line, { status: 200 });
    }
  } catch (error) {
    throw limit.errorOf(error, id);
  } finally {
    limit.end();
  }
}

function operationReader(transport: Transport): ReadOperation {
  return async (ref, holdSeconds, limits) => {
    const prefer = holdSeconds > 0 ? `wait=${holdSeconds}` : undefined;
    const options = { ...limits, prefer, holdMs: holdSeconds * 1_000 };
    const { text, headers } = await transport.send(
      outgoingOf(clusterOperations, 'getOperation', { team: ref.team, id: ref.id }, options),
    );
    return {
      operation: bodyOf(text, { status: 200, operationId: 'getOperation' }) as Operation,
      wasHeld: headers.has('Preference-Applied'),
      retryAfterMs: retryAfterMsOf(headers),
    };
  };
}

function refOf(given: OperationRef | string): OperationRef {
  const ref = typeof given === 'string' ? operationRefOf(given) : given;
  if (ref !== null) return ref;
  throw new CorralError({ status: 0, code: 'invalid_request', detail: 'This is not the URL of an operation.' });
}
