import type { FromSchema } from 'json-schema-to-ts';
import { exactly } from '../../schema-objects.js';
import { type ConnectionPhase, connectionMessages } from '../states.js';

/** The provider's verdict on a token; `unknown` without a usable answer. */
export type TokenVerdict = 'valid' | 'read-only' | 'rejected' | 'unknown';

/** What is known about the project of a token. */
export const connectionProjectSchema = {
  ...exactly({
    reachable: { type: 'boolean', description: 'Whether the token gives access to the project.' },
    readOnly: {
      type: ['boolean', 'null'],
      description: 'Whether the token can only read; null while it gives no access.',
    },
    currency: { type: ['string', 'null'], description: 'Currency of the price list; null until the list was read.' },
  }),
  type: ['object', 'null'],
  description: 'The project of the token; null until the provider gave a usable answer about it.',
} as const;
export type ConnectionProject = NonNullable<FromSchema<typeof connectionProjectSchema>>;

/** The state of a connection after a usable verdict on its token. */
export interface ConnectionStanding {
  readonly phase: Exclude<ConnectionPhase, 'Unverified'>;
  readonly message: string;
  readonly project: Omit<ConnectionProject, 'currency'>;
}

/** Clusters can be created only with a `valid` token. */
export const connectionStandings: Readonly<Record<Exclude<TokenVerdict, 'unknown'>, ConnectionStanding>> = {
  valid: { phase: 'Ready', message: connectionMessages.Ready, project: { reachable: true, readOnly: false } },
  'read-only': {
    phase: 'Rejected',
    message: connectionMessages.ReadOnly,
    project: { reachable: true, readOnly: true },
  },
  rejected: { phase: 'Rejected', message: connectionMessages.Rejected, project: { reachable: false, readOnly: null } },
};
