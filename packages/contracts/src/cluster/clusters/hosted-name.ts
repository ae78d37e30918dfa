import type { FromSchema } from 'json-schema-to-ts';
import { strictParserFor } from '../../parser-for.js';
import { closed, exactly } from '../../schema-objects.js';
import { textRules } from '../../text-rules.js';
import { clusterLimits } from '../limits.js';
import { filled, optionalTime, person, text, time } from '../schema-parts.js';
import { hostedNameStates } from '../states.js';
import { hostedNameStateMeanings, meaningsList } from '../status-meanings.js';

/** A name of the team, relative to the zone, that Ingresses can have. */
export const hostedNameNameSchema = {
  type: 'string',
  maxLength: clusterLimits.hostedNameCharacters,
  pattern: textRules.hostedName.pattern,
  description: 'The name relative to the zone. The names below it are part of it.',
} as const;

export const hostedNamePostSchema = closed(['name'], { name: hostedNameNameSchema });

const installedObjectSchema = exactly({
  kind: filled,
  apiVersion: filled,
  namespace: { type: ['string', 'null'], description: 'Null for an object of the whole cluster.' },
  name: filled,
  images: { type: 'array', items: filled, description: 'The images of its containers, with their versions.' },
});
export type InstalledObject = FromSchema<typeof installedObjectSchema>;

/** A name on a cluster, with what Corral keeps in the cluster for it. */
export const hostedNameSchema = exactly({
  name: { ...filled, description: 'Relative to the zone.' },
  host: { ...filled, description: 'The full name, for Ingresses and certificates.' },
  cluster: filled,
  state: { enum: hostedNameStates, description: meaningsList(hostedNameStateMeanings) },
  message: { ...text, description: 'What it waits for, and what to do about it. Empty when nothing is missing.' },
  issuer: { ...filled, description: 'Name of the ClusterIssuer that issues certificates for the name.' },
  objects: {
    type: 'array',
    items: installedObjectSchema,
    description: 'What Corral keeps in the cluster for the name.',
  },
  createdAt: time,
  createdBy: { anyOf: [person, { type: 'null' }], description: 'Null if the account of that person was deleted.' },
  checkedAt: { ...optionalTime, description: 'When the cluster was last asked. Null: not yet.' },
});
export type HostedNameBody = FromSchema<typeof hostedNameSchema>;

export const hostedNameListSchema = exactly({ items: { type: 'array', items: hostedNameSchema } });

/** What would be installed. */
export const hostedNameDryRunSchema = exactly({ dryRun: { const: true }, resource: hostedNameSchema });

export const parseHostedNamePost = strictParserFor<{ name: string }>(hostedNamePostSchema);

const pattern = new RegExp(hostedNameNameSchema.pattern);
export const isHostedName = (name: string): boolean =>
  name.length <= hostedNameNameSchema.maxLength && pattern.test(name);
