import { type LabelTest, parseLabelSelector } from '../../labels.js';
import { badRequest } from '../kube/errors.js';
import type { Held } from '../store.js';
import type { Asked } from './requests.js';

export type Selection = (held: Held) => boolean;

/** What the namespace and the selectors of a list or watch select: labels, and `metadata.name` for kubectl. @throws StatusError 400 */
export function selectionOf({ namespace, query }: Asked): Selection {
  const hasLabels = labelTest(query.get('labelSelector') ?? '');
  const fields = query.get('fieldSelector') ?? '';
  const [, name] = /^metadata\.name=(.+)$/.exec(fields) ?? [];
  if (fields !== '' && name === undefined) throw badRequest(`field label not supported: ${fields}`);
  return (held) =>
    (namespace === '' || held.namespace === namespace) &&
    (name === undefined || held.name === name) &&
    hasLabels(held.labels);
}

/** @throws StatusError 400 */
export const labelTest = (selector: string): LabelTest =>
  parseLabelSelector(selector, (part) => badRequest(`unable to parse requirement: ${JSON.stringify(part)}`));

/** @returns 0 if it is not given. @throws StatusError 400 */
export function readCount(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? '';
  if (!/^\d{0,9}$/.test(text)) throw badRequest(`${name}: ${JSON.stringify(text)} is no count`);
  return Number(text);
}
