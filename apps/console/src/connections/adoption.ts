import {
  type AdoptedServerSpec,
  joinsByCommand,
  type ProjectServer,
  parseNumber,
  type ServerArchitecture,
  type ServerKind,
  wipeAcknowledgement,
} from '@corral/contracts';

/** The form of an adoption, as typed. Type, location and architecture are typed for machines only. */
export interface AdoptionDraft {
  readonly kind: ServerKind;
  readonly number: string;
  readonly serverType: string;
  readonly location: string;
  readonly architecture: ServerArchitecture;
}

export const emptyAdoption: AdoptionDraft = {
  kind: 'cloud',
  number: '',
  serverType: '',
  location: '',
  architecture: 'amd64',
};

/** The word that has to be typed before a server is wiped. */
export const WIPE = wipeAcknowledgement.confirm;

/**
 * What would be adopted; null while the form is incomplete.
 *
 * @param found what the provider reports about a cloud server: its type, location and architecture are not typed
 */
export function adoptionSpec(draft: AdoptionDraft, found: ProjectServer | null): AdoptedServerSpec | null {
  const serverID = parseNumber(draft.number.trim());
  if (serverID === null) return null;
  if (joinsByCommand(draft.kind)) {
    const [serverType, location] = [draft.serverType.trim(), draft.location.trim()];
    if (serverType === '' || location === '') return null;
    return { serverID, serverType, location, architecture: draft.architecture, serverKind: draft.kind };
  }
  if (found === null || found.serverID !== serverID || !found.adoptable) return null;
  const { serverType, location, architecture } = found;
  return { serverID, serverType, location, architecture, serverKind: draft.kind };
}

/** What has to be typed besides the word: the live name of a cloud server, the number of a machine. */
export function nameToType(draft: AdoptionDraft, found: ProjectServer | null): string {
  return joinsByCommand(draft.kind) ? draft.number.trim() : (found?.name ?? '');
}
