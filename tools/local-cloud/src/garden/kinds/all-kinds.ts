import { shoots } from '../shoots/shoots.js';
import { cloudProfiles, configMaps, credentialsBindings, namespaces, projects, secrets } from './core-kinds.js';
import type { Kind } from './kind.js';

/** Every kind that the garden serves. */
export const allKinds: readonly Kind[] = [
  namespaces,
  secrets,
  configMaps,
  projects,
  credentialsBindings,
  cloudProfiles,
  shoots,
] as readonly Kind[];
