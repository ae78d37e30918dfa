import { type AnyOptions, allOf, call, methodsOf, type Params } from './calls.js';
import { CorralError } from './corral-error.js';
import type { components, operations } from './generated/dns-api.js';
import { dnsOperations } from './generated/dns-operations.js';
import type { Answer, AnswerOf, CallableId, CallLimits, MethodsOf, PathOf, QueryOf } from './operation-types.js';
import { type ClientOptions, createTransport, type Transport } from './transport.js';

/** The bodies of the DNS API by name. */
export type DnsSchemas = components['schemas'];
export type DnsOperationId = CallableId<operations>;
export type DnsAction = DnsSchemas['Action'];

type OkBody<Id extends DnsOperationId> = Extract<AnswerOf<operations[Id]>, Answer<200>>['body'];
type ListedOf<B> = B extends { meta?: unknown } ? Exclude<B[Exclude<keyof B, 'meta'>], undefined> : never;

/** The operations that answer pages. */
export type DnsListId = {
  [Id in DnsOperationId]: OkBody<Id> extends { meta?: { pagination: object } } ? Id : never;
}[DnsOperationId];
export type DnsItemOf<Id extends DnsListId> = ListedOf<OkBody<Id>> extends (infer I)[] ? I : never;

/** The DNS API: a method per operation, and what takes several requests. */
export interface CorralDnsClient extends MethodsOf<operations, DnsOperationId> {
  /** The entries of a list, page by page. @throws CorralError */
  readonly list: <Id extends DnsListId>(
    id: Id,
    params: PathOf<operations[Id]>,
    options?: CallLimits & { readonly query?: QueryOf<operations[Id]> | undefined },
  ) => AsyncGenerator<DnsItemOf<Id>, void, undefined>;
  /** All entries of a list. @throws CorralError */
  readonly listAll: <Id extends DnsListId>(
    id: Id,
    params: PathOf<operations[Id]>,
    options?: CallLimits & { readonly query?: QueryOf<operations[Id]> | undefined },
  ) => Promise<DnsItemOf<Id>[]>;
  /**
   * Waits until an action has ended: `success` or `error`.
   *
   * @param timeoutMs default: 5 minutes
   * @throws CorralError `timeout` when it takes longer; the action goes on
   */
  readonly waitForAction: (id: number, limits?: CallLimits) => Promise<DnsAction>;
}

const PAGE_ENTRIES = 50;
const ACTION_MS = 300_000;
const POLL_MS = 500;

/**
 * Creates a client of the DNS API.
 *
 * @param options `baseUrl` with the version, such as `https://dns.example.org/v1`
 * @throws TypeError for an invalid `baseUrl`
 */
export function createDnsClient(options: ClientOptions): CorralDnsClient {
  const transport = createTransport(options);
  const client = {
    ...methodsOf(dnsOperations, transport),
    list: (id: DnsListId, params: Params, given: AnyOptions = {}) => entriesOf(transport, id, params, given),
    listAll: (id: DnsListId, params: Params, given: AnyOptions = {}) => allOf(entriesOf(transport, id, params, given)),
    waitForAction: (id: number, limits: CallLimits = {}) => untilEnded(transport, id, limits),
  };
  // The table has exactly the operations that the types have: both are of one document.
  return client as unknown as CorralDnsClient;
}

interface Page {
  readonly meta?: { readonly pagination: { readonly next_page: number | null } };
}

async function* entriesOf(
  transport: Transport,
  id: DnsListId,
  params: Params,
  options: AnyOptions,
): AsyncGenerator<unknown> {
  let page: number | null = 1;
  while (page !== null) {
    const query = { per_page: PAGE_ENTRIES, ...options.query, page };
    const { body }: Answer = await call(transport, dnsOperations, id, params, { ...options, query });
    const { meta, ...lists } = body as Page & Record<string, unknown[]>;
    for (const list of Object.values(lists)) yield* list;
    const next: number | null = meta?.pagination.next_page ?? null;
    page = next !== null && next > page ? next : null;
  }
}

/** The API itself delays the answer for a while. */
async function untilEnded(
  transport: Transport,
  id: number,
  { timeoutMs = ACTION_MS, signal }: CallLimits,
): Promise<DnsAction> {
  const endsAt = performance.now() + timeoutMs;
  for (;;) {
    const limits = { signal, timeoutMs: endsAt - performance.now() };
    const { body } = await call(transport, dnsOperations, 'getAction', { id }, limits);
    const { action } = body as { action: DnsAction };
    if (action.status !== 'running') return action;
    if (performance.now() + POLL_MS >= endsAt) {
      const detail = 'Timed out: the action is still running.';
      throw new CorralError({ status: 0, code: 'timeout', detail, operationId: 'getAction', body: action });
    }
    await transport.pause(POLL_MS, signal);
  }
}
