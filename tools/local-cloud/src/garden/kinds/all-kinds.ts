import { cloudProfiles } from './cloud-profile.js';
import { configMaps, namespaces, secrets } from './core-kinds.js';
import type { Kind } from './kind.js';
import { credentialsBindings, projects } from './projects.js';
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
