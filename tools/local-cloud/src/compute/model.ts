import type { ActionFacts } from '../dns/model.js';
import type { Labels } from '../labels.js';

/** The provider's names. */
type Architecture = 'x86' | 'arm';

export interface SystemImage {
  readonly id: number;
  readonly name: string;
  readonly architecture: Architecture;
  /** GB. */
  readonly diskGb: number;
}

/** A stored server. Immutable. */
export interface Server {
  readonly id: number;
  /** Project of the server. */
  readonly project: string;
  readonly name: string;
  readonly created: string;
  readonly serverType: string;
  readonly architecture: Architecture;
  readonly location: string;
  readonly labels: Labels;
  readonly imageId: number | null;
  readonly protection: { readonly delete: boolean; readonly rebuild: boolean };
  /** Locked by the provider, without an action. */
  readonly locked: boolean;
  readonly rescueEnabled: boolean;
  /** Stored power state, before the effect of actions. */
  readonly power: 'running' | 'off';
  /** False if created without SSH keys: a rebuild then answers a new password. */
  readonly hasSshKeys: boolean;
  readonly userData: string | null;
  readonly rebuilds: number;
  readonly powerOffs: number;
  readonly deletedBy: 'api' | 'admin' | null;
  /** Id of the last rebuild action; null if never rebuilt. */
  readonly rebuild: number | null;
  /** The rebuild whose user data was processed. */
  readonly firstBoot: number | null;
  /** Whether the join started by its user data works. */
  readonly joins: boolean;
}

/** What a server currently runs from. */
export interface RunState {
  readonly server: Server;
  /** Null while it does not run or if it was never rebuilt. */
  readonly rebuild: number | null;
  /** End of the last or current rebuild, in milliseconds since 1970; null if never rebuilt. */
  readonly rebuiltAt: number | null;
}

export interface ServerAction extends ActionFacts {
  readonly serverId: number;
  /** Image of a successful rebuild; null for other actions. */
  readonly imageId: number | null;
}

/** What can be set by hand. Omitted fields have defaults. */
type Settable =
  | ('id' | 'name' | 'serverType' | 'architecture' | 'location' | 'labels' | 'protection' | 'locked' | 'rescueEnabled')
  | ('hasSshKeys' | 'joins');

export interface ServerOptions extends Partial<Pick<Server, Settable>> {
  readonly image?: string | null;
}

const systemImages: readonly [id: number, name: string, architecture: Architecture][] = [
  [114_690_387, 'debian-12', 'x86'],
  [114_690_389, 'debian-12', 'arm'],
  [161_547_269, 'ubuntu-24.04', 'x86'],
  [161_547_270, 'ubuntu-24.04', 'arm'],
  [67_794_396, 'ubuntu-22.04', 'x86'],
  [103_908_130, 'ubuntu-22.04', 'arm'],
];

/** The provider's images: one per architecture under each name. */
export const images: readonly SystemImage[] = systemImages.map(([id, name, architecture]) => ({
  id,
  name,
  architecture,
  diskGb: 5,
}));

/** Finds an image by id or name. A name selects the image for the architecture. */
export const findImage = (reference: string, architecture: Architecture): SystemImage | null =>
  images.find(({ id }) => String(id) === reference) ??
  images.find((image) => image.name === reference && image.architecture === architecture) ??
  null;
