import type { ClusterSchemas } from '@corral/client';
import { placeOf } from '@corral/contracts';
import { contentOfBody, type SetContent } from '@corral/domain';
import type { Tone } from '../ui/status.js';

type AuditEntry = ClusterSchemas['AuditEntry'];

/** Names the one who acted, as people do. */
export function actorOf({ actor }: Pick<AuditEntry, 'actor'>): string {
  switch (actor.kind) {
    case 'user':
      return actor.name ?? `user ${actor.id}`;
    case 'token':
      return `token ${actor.name ?? actor.id}`;
    case 'account':
      return `service account ${actor.name ?? actor.id}`;
    case 'service':
      return 'Corral';
    case 'operator':
      return actor.name === null ? 'operator' : `operator ${actor.name}`;
    case 'upstream':
      return 'changed at the provider';
    case 'course':
      return 'course code';
  }
}

const tones: Readonly<Record<AuditEntry['outcome'], Tone>> = {
  pending: 'running',
  completed: 'good',
  refused: 'bad',
  unsent: 'warning',
  settled: 'good',
  observed: 'warning',
};
export const toneOf = ({ outcome }: Pick<AuditEntry, 'outcome'>): Tone => tones[outcome];

/** The record set before and after a change; null where that is not known, or nothing changed. */
export function rrsetChangeOf({ dns, outcome }: AuditEntry): RrsetChange | null {
  if (dns === null) return null;
  const isFound = outcome === 'observed' || (outcome === 'settled' && dns.foundApplied === true);
  if (outcome !== 'completed' && !isFound) return null;
  const [before, after] = [dns.beforeBody, isFound ? dns.foundBody : dns.afterBody];
  // A body that was cut is a text.
  if (typeof before !== 'object' || typeof after !== 'object' || (before === null && after === null)) return null;
  return { from: contentOfBody(before), to: contentOfBody(after) };
}

/** A changed field: `nodePools[0].minimum`, with its values as text; null for an absent value. */
export function fieldTextsOf({ changes }: AuditEntry): readonly FieldTexts[] {
  return (changes ?? []).map(({ pointer, from, to, byDefault }) => ({
    field: placeOf(pointer).replace(/^spec\./, ''),
    from: from === null ? null : textOf(from),
    to: to === null ? null : textOf(to) + (byDefault ? ' (default)' : ''),
  }));
}

export interface RrsetChange {
  readonly from: SetContent | null;
  readonly to: SetContent | null;
}

export interface FieldTexts {
  readonly field: string;
  readonly from: string | null;
  readonly to: string | null;
}

/** What was requested, what came back and what was found later, for the details of an entry. */
export function partsOf({ dns, detail }: AuditEntry): { readonly title: string; readonly text: string }[] {
  const parts: readonly (readonly [string, unknown])[] = [
    ['Requested', dns?.requestBody],
    ['Answer of the provider', dns?.upstreamBody],
    ['Found later', dns?.foundBody],
    ['Details', Object.keys(detail).length === 0 ? null : detail],
  ];
  return parts
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([title, value]) => ({ title, text: textOf(value) }));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
