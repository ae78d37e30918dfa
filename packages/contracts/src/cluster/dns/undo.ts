import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { strictParserFor } from '../../parser-for.js';
import { closed, exactly } from '../../schema-objects.js';
import { textRules } from '../../text-rules.js';
import { costDifferenceSchema } from '../clusters/cost.js';
import { effectsSchema } from '../clusters/effects.js';
import { clusterLimits } from '../limits.js';
import { fieldChangesSchema, filled, givenTime, text, time } from '../schema-parts.js';
import { auditActorKinds } from './audit-entry.js';

/* What is asked and answered where entries of the audit log are taken back. */

const overwrite = {
  type: 'string',
  maxLength: 64,
  pattern: textRules.visibleAscii.pattern,
  description:
    '`tag` of the plan that was shown. With it, later changes that the plan names in `overwrites` are taken back too.',
} as const;

export const undoEntrySchema = closed([], { overwrite });
export const undoEntriesSchema = closed([], {
  requestId: {
    type: 'string',
    maxLength: 64,
    pattern: textRules.visibleAscii.pattern,
    description: '`X-Correlation-Id` of the answer to a request.',
  },
  since: { ...givenTime, description: 'Entries at or after this time.' },
  until: { ...givenTime, description: 'Entries before this time. Default: now.' },
  actor: {
    type: 'string',
    maxLength: clusterLimits.issuerCharacters,
    description: 'Only what this person or kind of caller did, as in the list of the audit log.',
  },
  name: { type: 'string', maxLength: 253, description: 'Only entries about a record set or a cluster of this name.' },
  token: {
    type: 'string',
    maxLength: clusterLimits.dnsTokenNameCharacters,
    description: 'Only what this DNS token wrote: its name or id.',
  },
  overwrite,
});
export type UndoEntries = FromSchema<typeof undoEntriesSchema>;
export const parseUndoEntry = strictParserFor<FromSchema<typeof undoEntrySchema>>(undoEntrySchema);
export const parseUndoEntries = strictParserFor<UndoEntries>(undoEntriesSchema);

const undoStates = {
  planned: 'Can be taken back.',
  begun: 'The change of the cluster is accepted; `operation` carries it out.',
  same: 'Is as it was before already.',
  impossible: 'Cannot be taken back; `reason` says why.',
} as const;
export type UndoState = keyof typeof undoStates;

const thing = { type: ['object', 'null'] } as const;
const optional = <const S extends JSONSchema>(schema: S) => ({ anyOf: [schema, { type: 'null' }] }) as const;

/** @param operation the schema of an operation */
export const undoPlanSchemaOf = <const O extends JSONSchema>(operation: O) =>
  exactly({
    dryRun: { type: 'boolean' },
    tag: {
      ...filled,
      description: 'Changes with everything that the plan shows of present and planned values. For `overwrite`.',
    },
    items: {
      type: 'array',
      description: 'One for each record set, each cluster, and each other thing that the entries are about.',
      items: exactly({
        kind: { enum: ['recordSet', 'cluster', 'other'] },
        name: text,
        type: { type: ['string', 'null'], description: 'Record type.' },
        entries: { type: 'array', items: filled, description: 'Ids of the entries that are taken back, newest first.' },
        state: {
          enum: Object.keys(undoStates) as UndoState[],
          description: Object.entries(undoStates)
            .map(([state, meaning]) => `\`${state}\`: ${meaning}`)
            .join(' '),
        },
        reason: { type: ['string', 'null'], description: 'Why it cannot be taken back.' },
        now: {
          ...thing,
          description: 'The record set, or the specification of the cluster, as it is; null if absent.',
        },
        before: { ...thing, description: 'As it was before the first of the entries; null if absent.' },
        to: {
          ...thing,
          description: 'As undo makes it: what the entries changed is as before, and what others changed since stays.',
        },
        changedSince: {
          type: 'array',
          description: 'Later entries about it that are not taken back, newest first, where it was changed since.',
          items: exactly({
            id: filled,
            action: filled,
            actor: exactly({ kind: { enum: auditActorKinds }, name: { type: ['string', 'null'] } }),
            createdAt: time,
          }),
        },
        overwrites: {
          type: 'array',
          items: text,
          description:
            'Parts that were changed again since, which undo would take back too. It then needs `overwrite`.',
        },
        calls: {
          type: 'array',
          description:
            'Requests of the DNS API that take a record set back, to be sent with a DNS token, in the order of the plan. This API ' +
            'does not send them.',
          items: exactly({ method: { enum: ['POST', 'PUT', 'DELETE'] }, url: filled, body: thing }),
        },
        changes: { ...fieldChangesSchema, description: 'Fields of the specification of a cluster that undo changes.' },
        effects: effectsSchema,
        costDifference: optional(costDifferenceSchema),
        operation: optional(operation),
      }),
    },
  });
