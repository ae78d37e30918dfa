import { defaultSpeed, type GardenSpeed } from './gardenlet/flow-plan.js';

/** Optional fields of the provider extension, supported only by some builds: for networks, nodes and images. */
export type ExtensionField = 'existingNetwork' | 'publicIP' | 'imageOptions';

/** What an operator of the garden has put in the way of writes. */
export interface AdmissionRule {
  readonly name: string;
  /** A ValidatingAdmissionPolicy, a webhook that refuses, or one that does not answer (`failurePolicy: Fail`). */
  readonly kind: 'policy' | 'webhook' | 'dead webhook';
  /** Default: all. */
  readonly namespace?: string;
  /** Plural. Default `shoots`. */
  readonly resource?: string;
  /** Default: `CREATE` and `UPDATE`. */
  readonly operations?: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
  /** A regular expression on the JSON of the specification. Default: all. */
  readonly when?: string;
  /** For people. */
  readonly message?: string;
}

/** Settings that can change at run time. */
export interface GardenSettings extends GardenSpeed {
  /** Interval of bookmarks in watches that request them, in milliseconds. */
  readonly bookmarkMs: number;
  /** Time from the end of a server's rebuild until it is a node, in milliseconds. */
  readonly joinMs: number;
  /**
   * Simulates a starting API server. It is not ready and refuses every caller with 403, as an anonymous user
   * (`anonymous`) or as a user without rights (`rights`).
   */
  readonly startUp: 'over' | 'anonymous' | 'rights';
  /** Maximum number of Shoots per namespace; null for no quota. */
  readonly shootsMax: number | null;
  readonly secretsMax: number | null;
  /** Fields that this version of the garden does not have, for example `spec.maintenance.confineSpecUpdateRollout`. */
  readonly undeclaredFields: readonly string[];
  /** Policies and webhooks that operators have installed. */
  readonly admission: readonly AdmissionRule[];
  /** Additional fields that this build of the provider extension supports. */
  readonly extensionFields: readonly ExtensionField[];
  /** Where the Project stores the certificate authority of a Shoot. */
  readonly authorityIn: 'configmap' | 'nowhere';
}

const defaultSettings: GardenSettings = {
  ...defaultSpeed,
  bookmarkMs: 60_000,
  joinMs: 1000,
  startUp: 'over',
  shootsMax: null,
  secretsMax: null,
  undeclaredFields: [],
  admission: [],
  extensionFields: [],
  authorityIn: 'configmap',
};

export function createSettings(initial: Partial<GardenSettings>) {
  let settings = checked({ ...defaultSettings, ...initial });
  return {
    read: (): GardenSettings => settings,
    /** @throws Error for an invalid value; nothing has changed then */
    change(change: Partial<GardenSettings>): GardenSettings {
      settings = checked({ ...settings, ...change });
      return settings;
    },
  };
}

function checked(settings: GardenSettings): GardenSettings {
  for (const [name, value] of Object.entries(settings)) {
    if (!Object.hasOwn(defaultSettings, name)) throw new Error(`The garden has no setting \`${name}\`.`);
    if (typeof value === 'number' && !(value >= 0)) throw new Error(`\`${name}\` is a number of at least 0.`);
  }
  return settings;
}
