import { fieldAt } from '../kube/object.js';
import type { ExtensionField } from '../settings.js';
import { type Shoot, workersOf } from './shoot.js';

/**
 * The provider's webhook refuses fields that this build of the extension does not have.
 *
 * @param known those that it has in addition to the public ones
 * @returns its words; null if it accepts the Shoot
 */
export function judgeByProvider({ spec }: Shoot, known: readonly ExtensionField[]): string | null {
  const workers = workersOf(spec);
  const used: Readonly<Record<ExtensionField, boolean>> = {
    existingNetwork: fieldAt(spec.provider.infrastructureConfig, 'networks', 'existingNetwork') !== undefined,
    publicIP: workers.some(({ providerConfig }) => providerConfig?.publicIP !== undefined),
    imageOptions: workers.some(({ machine }) => machine.image?.providerConfig !== undefined),
  };
  const at: Readonly<Record<ExtensionField, string>> = {
    existingNetwork: 'spec.provider.infrastructureConfig',
    publicIP: 'spec.provider.workers[0].providerConfig',
    imageOptions: 'spec.provider.workers[0].machine.image.providerConfig',
  };
  const refused = (Object.keys(used) as ExtensionField[]).find((field) => used[field] && !known.includes(field));
  return refused === undefined
    ? null
    : `${at[refused]}: Internal error: strict decoding error: unknown field ${JSON.stringify(refused)}`;
}
