import fc from 'fast-check';
import type { UpstreamWrite } from '../system/local-cloud.js';
import type { AuditEntry } from './upstream-history.js';

const set = { name: 'www.acme', type: 'A' };
const PATH = '/v1/zones/7001/rrsets/www.acme/A';

const requests = {
  add_records: { method: 'POST', path: `${PATH}/actions/add_records` },
  change_ttl: { method: 'POST', path: `${PATH}/actions/change_ttl` },
  update: { method: 'PUT', path: PATH },
  delete: { method: 'DELETE', path: PATH },
} as const;

export type WriteOperation = keyof typeof requests;

const bodyOf = (operation: WriteOperation, mark: number): object | null => {
  switch (operation) {
    case 'add_records':
      return { records: [{ value: '192.0.2.1', comment: `write ${mark}` }] };
    case 'change_ttl':
      return { ttl: 60 + mark };
    case 'update':
      return { labels: { write: `${mark}` } };
    case 'delete':
      return null;
  }
};

const actionError = { code: 'action_failed', message: 'injected fault' };

/** A write as the upstream log reports it. `number` orders it and names its action. */
export function aWrite(
  number: number,
  {
    operation = 'add_records',
    mark = number,
    hasFailed = false,
  }: Partial<HistoryFields> & { hasFailed?: boolean } = {},
): UpstreamWrite {
  return {
    seq: number,
    zone: 'example.test',
    ...set,
    ...requests[operation],
    body: bodyOf(operation, mark),
    actionId: operation === 'update' ? null : number,
    actionError: hasFailed ? actionError : null,
  };
}

interface HistoryFields {
  readonly operation: WriteOperation;
  readonly mark: number;
}

/** The entry of a write that was answered. `lost` makes it one whose answer was lost. */
export function anEntry(
  number: number,
  { operation = 'add_records', mark = number }: Partial<HistoryFields> = {},
  changes: Partial<AuditEntry> = {},
): AuditEntry {
  const body = bodyOf(operation, mark);
  const answer = operation === 'update' ? { rrset: {} } : { action: { id: number } };
  return {
    id: number,
    ...set,
    operation,
    state: 'completed',
    foundApplied: null,
    requestBody: body === null ? null : JSON.stringify(body),
    upstreamBody: JSON.stringify(answer),
    ...changes,
  };
}

export const settled = (foundApplied: boolean): Partial<AuditEntry> => ({
  state: 'settled',
  upstreamBody: null,
  foundApplied,
});

/** The possible outcomes of a write, and what the two logs say about each. */
const fates = {
  answered: { arrives: true, entry: {} },
  'answered, and its action failed': { arrives: true, hasFailed: true, entry: {} },
  'arrived, its answer lost': { arrives: true, entry: settled(true) },
  'arrived, its answer lost, its action failed': { arrives: true, hasFailed: true, entry: settled(false) },
  'never arrived': { arrives: false, entry: settled(false) },
  'never arrived, and the set was so before': { arrives: false, entry: settled(true) },
  refused: { arrives: false, entry: { state: 'refused', upstreamBody: null } },
  'never sent': { arrives: false, entry: { state: 'unsent', upstreamBody: null } },
} as const satisfies Record<string, { arrives: boolean; hasFailed?: boolean; entry: Partial<AuditEntry> }>;

/** The history of one set, in order, with two correct logs. */
export interface TrueHistory {
  /** In the order of the numbers, which are the sequence of a write and the ID of its entry. */
  readonly writes: readonly UpstreamWrite[];
  readonly entries: readonly AuditEntry[];
}

/** @param areUnique whether no two requests are the same; otherwise most have a duplicate */
export const trueHistories = ({ areUnique }: { areUnique: boolean }): fc.Arbitrary<TrueHistory> =>
  fc
    .array(
      fc.record({
        operation: fc.constantFrom<WriteOperation>(
          'add_records',
          'change_ttl',
          'update',
          'update',
          ...(areUnique ? [] : (['delete'] as const)),
        ),
        mark: fc.integer({ min: 1, max: 2 }),
        fate: fc.constantFrom(...(Object.keys(fates) as (keyof typeof fates)[])),
      }),
      { maxLength: 12 },
    )
    .map((events) => {
      const history = { writes: [] as UpstreamWrite[], entries: [] as AuditEntry[] };
      for (const [index, { operation, mark, fate }] of events.entries()) {
        const number = index + 1;
        const fields = { operation, mark: areUnique ? number : mark };
        const { arrives, entry, ...fails } = fates[fate];
        if (arrives) history.writes.push(aWrite(number, { ...fields, ...fails }));
        history.entries.push(anEntry(number, fields, entry));
      }
      return history;
    });
