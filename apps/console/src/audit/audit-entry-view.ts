import type { AuditEntryBody } from '@corral/contracts';
import type { Tone } from '../ui/status.js';

/** Who acted, as people name them. */
export function actorOf({ actor }: Pick<AuditEntryBody, 'actor'>): string {
  switch (actor.kind) {
    case 'user':
      return actor.name ?? `user ${actor.id}`;
    case 'token':
      return `token ${actor.name ?? actor.id}`;
    case 'service':
      return 'Corral';
    case 'upstream':
      return 'changed at the provider';
    case 'course':
      return 'course code';
  }
}

const tones: Readonly<Record<AuditEntryBody['outcome'], Tone>> = {
  pending: 'running',
  completed: 'good',
  refused: 'bad',
  unsent: 'warning',
  settled: 'good',
  observed: 'warning',
};
export const toneOf = ({ outcome }: Pick<AuditEntryBody, 'outcome'>): Tone => tones[outcome];

/** What was requested, what came back and what was found later, for the details of an entry. */
export function partsOf({ dns, detail }: AuditEntryBody): { readonly title: string; readonly text: string }[] {
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
