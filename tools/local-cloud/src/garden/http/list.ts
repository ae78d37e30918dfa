import { type LabelTest, parseLabelSelector } from '../../labels.js';
import { apiVersionOf } from '../kinds/kind.js';
import { badRequest } from '../kube/status-error.js';
import { type Held, keyOf } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import type { Shape } from './accept.js';
import { metadataListHead, metadataText } from './metadata-only.js';
import type { RequestInfo } from './routes.js';

interface ListPage {
  readonly items: readonly Held[];
  readonly metadata: { resourceVersion: string; continue?: string };
}

interface ContinueToken {
  readonly version: number;
  readonly after: string;
}

/**
 * One page of a collection. All pages show the collection as it was at the first page.
 *
 * @throws StatusError 400, 410 if that version is no longer in the history
 */
export function listPage(store: ObjectStore, request: RequestInfo): ListPage {
  const { kind, query } = request;
  const limit = readCount(query, 'limit');
  const { version, after } = parseToken(query.get('continue') ?? '') ?? { version: store.version, after: '' };
  const matches = selectionOf(request);
  const rest = store
    .list(kind.plural, version)
    .filter((held) => matches(held) && keyOf(held.namespace, held.name) > after);
  const items = limit === 0 ? rest : rest.slice(0, limit);
  const last = items.at(-1);
  const resourceVersion = String(version);
  if (items.length === rest.length || last === undefined) return { items, metadata: { resourceVersion } };
  const next = tokenOf({ version, after: keyOf(last.namespace, last.name) });
  return { items, metadata: { resourceVersion, continue: next } };
}

/** Renders the list as JSON, reusing the stored texts of the items. */
export function renderList({ kind }: RequestInfo, { items, metadata }: ListPage, shape: Shape): string {
  const isWhole = shape === 'whole';
  const head = isWhole ? { kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind) } : metadataListHead;
  const texts = items.map((held) => (isWhole ? held.text : metadataText(held)));
  return `${JSON.stringify({ ...head, metadata }).slice(0, -1)},"items":[${texts.join(',')}]}`;
}

export function readCount(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? '';
  if (text === '') return 0;
  if (!/^\d{1,9}$/.test(text)) throw badRequest(`${name}: ${JSON.stringify(text)} is no count`);
  return Number(text);
}

const tokenOf = ({ version, after }: ContinueToken): string => Buffer.from(`${version}:${after}`).toString('base64url');

function parseToken(text: string): ContinueToken | null {
  if (text === '') return null;
  const [, version, after = ''] = /^(\d{1,15}):(.*)$/.exec(Buffer.from(text, 'base64url').toString('utf8')) ?? [];
  if (version === undefined) throw badRequest('continue key is not valid');
  return { version: Number(version), after };
}

export type Selection = (held: Held) => boolean;

/** The namespace and label selector of a list or watch. @throws StatusError 400 */
export function selectionOf({ namespace, query }: RequestInfo): Selection {
  const hasLabels = labelTest(query.get('labelSelector') ?? '');
  if (query.get('fieldSelector'))
    throw badRequest('field label not supported: the local garden selects by labels only');
  return (held) => (namespace === '' || held.namespace === namespace) && hasLabels(held.labels);
}

/** @throws StatusError 400 */
export const labelTest = (selector: string): LabelTest =>
  parseLabelSelector(selector, (part) =>
    badRequest(`unable to parse requirement: ${JSON.stringify(part)} in selector ${JSON.stringify(selector)}`),
  );
