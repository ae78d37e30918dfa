import { type LabelTest, parseLabelSelector } from '../../labels.js';
import { apiVersionOf } from '../kinds/kind.js';
import type { KubeObject } from '../kube/object.js';
import { badRequest, StatusError } from '../kube/status-error.js';
import { type Held, type ObjectStore, objectOf } from '../store.js';
import type { Asked, Shape } from './requests.js';

/** What is left of lists that are read in pages. Their pages all show the moment of the first one. */
interface Snapshot {
  readonly version: number;
  readonly rest: readonly Held[];
}

const SNAPSHOTS_MAX = 100;

/** @returns a function that renders one page of a list as JSON. It throws StatusError 400, 410 for a page that is not kept any more */
export function listPages(store: ObjectStore): (asked: Asked, shape: Shape) => string {
  const snapshots = new Map<string, Snapshot>();
  let made = 0;
  return (asked, shape) => {
    const { kind, query } = asked;
    const limit = readCount(query, 'limit') || Number.POSITIVE_INFINITY;
    const token = query.get('continue') ?? '';
    const first = (): Snapshot => ({
      version: store.version,
      rest: store.list(kind.plural).filter(selectionOf(asked)),
    });
    const snapshot = token === '' ? first() : snapshots.get(token);
    if (snapshot === undefined) throw new StatusError(410, 'Expired', 'The provided continue parameter is too old');
    const { version, rest } = snapshot;
    const metadata: Record<string, string> = { resourceVersion: String(version) };
    if (rest.length > limit) {
      made += 1;
      metadata.continue = `page-${made}`;
      snapshots.set(metadata.continue, { version, rest: rest.slice(limit) });
      if (snapshots.size > SNAPSHOTS_MAX) snapshots.delete([...snapshots.keys()][0] ?? '');
    }
    const isWhole = shape === 'whole';
    const head = isWhole ? { kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind) } : metadataListHead;
    const texts = rest
      .slice(0, limit)
      .map((held) => (isWhole ? held.text : JSON.stringify(metadataOnly(objectOf(held)))));
    return `${JSON.stringify({ ...head, metadata }).slice(0, -1)},"items":[${texts.join(',')}]}`;
  };
}

const metadataListHead = { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' };

/** An object reduced to its metadata, whose members come in the order of Go. */
export const metadataOnly = ({ metadata: { name, namespace, uid, ...others } }: KubeObject) => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: { name, namespace, uid, ...others },
});

/** @returns 0 if it is not given. @throws StatusError 400 */
export function readCount(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? '';
  if (!/^\d{0,9}$/.test(text)) throw badRequest(`${name}: ${JSON.stringify(text)} is no count`);
  return Number(text);
}

export type Selection = (held: Held) => boolean;

/** What the namespace and the label selector of a list or watch select. @throws StatusError 400 */
export function selectionOf({ namespace, query }: Asked): Selection {
  const hasLabels = labelTest(query.get('labelSelector') ?? '');
  if (query.get('fieldSelector'))
    throw badRequest('field label not supported: the local garden selects by labels only');
  return (held) => (namespace === '' || held.namespace === namespace) && hasLabels(held.labels);
}

/** @throws StatusError 400 */
export const labelTest = (selector: string): LabelTest =>
  parseLabelSelector(selector, (part) => badRequest(`unable to parse requirement: ${JSON.stringify(part)}`));
