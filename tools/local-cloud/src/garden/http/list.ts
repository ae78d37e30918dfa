import { type LabelTest, parseLabelSelector } from '../../labels.js';
import { apiVersionOf } from '../kinds/kind.js';
import { badRequest, expired, StatusError } from '../kube/status-error.js';
import { type Held, keyOf } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import type { RequestInfo } from './routes.js';

interface ListPage {
  readonly items: readonly Held[];
  readonly metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
}

interface ContinueToken {
  readonly version: number;
  readonly after: string;
}

/**
 * One page of a collection. All pages show the collection as it was at the first page.
 *
 * @throws StatusError 400, 410 if that version is no longer in the history, 504 for a future version
 */
export function listPage(store: ObjectStore, request: RequestInfo): ListPage {
  const { kind, query } = request;
  const limit = readCount(query, 'limit');
  const token = parseToken(query.get('continue') ?? '');
  const version = token?.version ?? versionOf(query, store.version);
  const selection = selectionOf(request);
  const all = readAt(store, kind.plural, version, token).filter((held) => selection.matches(held));
  const from = token === null ? 0 : all.findIndex((held) => keyOf(held.namespace, held.name) > token.after);
  const rest = from < 0 ? [] : all.slice(from);
  const items = limit === 0 ? rest : rest.slice(0, limit);
  const last = items.at(-1);
  const remaining = rest.length - items.length;
  const resourceVersion = String(version);
  if (remaining === 0 || last === undefined) return { items, metadata: { resourceVersion } };
  const next = tokenOf({ version, after: keyOf(last.namespace, last.name) });
  const counted = selection.narrows ? {} : { remainingItemCount: remaining };
  return { items, metadata: { resourceVersion, continue: next, ...counted } };
}

function readAt(store: ObjectStore, plural: string, version: number, token: ContinueToken | null): readonly Held[] {
  try {
    return store.list(plural, version);
  } catch (error) {
    if (token === null || !(error instanceof StatusError)) throw error;
    const message =
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
    throw expired(message, { continue: tokenOf({ ...token, version: store.version }) });
  }
}

/** Renders the list as JSON, reusing the stored texts of the items. */
export function renderList({ kind }: RequestInfo, { items, metadata }: ListPage): string {
  const head = { kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind), metadata };
  return `${JSON.stringify(head).slice(0, -1)},"items":[${items.map(({ text }) => text).join(',')}]}`;
}

function versionOf(query: URLSearchParams, current: number): number {
  const text = query.get('resourceVersion') ?? '';
  if (text === '' || text === '0') return current;
  const version = parseVersion(text);
  if (version > current) throw tooLarge(version, current);
  return readCount(query, 'limit') > 0 ? version : current;
}

/** @throws StatusError 400 */
export function parseVersion(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw badRequest(`invalid resource version ${JSON.stringify(text)}`);
  return Number(text);
}

const tooLarge = (asked: number, current: number): StatusError =>
  new StatusError(504, 'Timeout', `Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });

export function readCount(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? '';
  if (text === '') return 0;
  if (!/^\d{1,9}$/.test(text)) throw badRequest(`${name}: ${JSON.stringify(text)} is no count`);
  return Number(text);
}

const tokenOf = (token: ContinueToken): string => Buffer.from(JSON.stringify(token)).toString('base64url');

function parseToken(text: string): ContinueToken | null {
  if (text === '') return null;
  try {
    const { version, after } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (Number.isInteger(version) && typeof after === 'string') return { version, after };
  } catch {
    // Invalid tokens are refused below.
  }
  throw badRequest('continue key is not valid');
}

export interface Selection {
  matches(held: Held): boolean;
  /** Whether it filters by more than the namespace. */
  readonly narrows: boolean;
}

/** The namespace and label selector of a list or watch. @throws StatusError 400 */
export function selectionOf({ namespace, query }: RequestInfo): Selection {
  const selector = query.get('labelSelector') ?? '';
  const hasLabels = labelTest(selector);
  if (query.get('fieldSelector'))
    throw badRequest('field label not supported: the local garden selects by labels only');
  return {
    narrows: selector !== '',
    matches: (held) => (namespace === '' || held.namespace === namespace) && hasLabels(held.labels),
  };
}

/** @throws StatusError 400 */
export const labelTest = (selector: string): LabelTest =>
  parseLabelSelector(selector, (part) =>
    badRequest(`unable to parse requirement: ${JSON.stringify(part)} in selector ${JSON.stringify(selector)}`),
  );
