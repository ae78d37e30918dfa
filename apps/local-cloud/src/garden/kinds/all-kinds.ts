import { cloudProfiles } from './cloud-profile.js';
import { configMaps, namespaces, secrets } from './core-kinds.js';
import { credentialsBindings } from './credentials-binding.js';
import type { Kind } from './kind.js';
import { projects } from './project.js';
import { shoots } from './shoot/shoots.js';

/** Every kind that the garden serves. */
export const allKinds: readonly Kind[] = [
  namespaces,
  secrets,
  configMaps,
  projects,
  credentialsBindings,
  cloudProfiles,
  shoots,
];

const byPlural = new Map(allKinds.map((kind) => [kind.plural, kind]));

export const kindOf = (plural: string): Kind | null => byPlural.get(plural) ?? null;
