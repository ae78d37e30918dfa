import { defaultSpeed, type GardenSpeed } from './gardenlet/flow-plan.js';

/** What can be changed while the garden runs. */
export interface GardenSettings extends GardenSpeed {
  /** Events per resource that a watch can go back. */
  readonly historyLength: number;
  /** How often a watch that asked for bookmarks gets one, in milliseconds. */
  readonly bookmarkMs: number;
  /** How a watch is told that its version is gone: as an ERROR in the stream, or by the status of the answer. */
  readonly expiry: 'stream' | 'status';
  /** Longest life of a kubeconfig, in seconds; longer requests are cut to it. */
  readonly kubeconfigSecondsMax: number;
  /** How long it takes from the end of a server's rebuild until it is a node, in milliseconds. */
  readonly joinMs: number;
  /**
   * As while the API server starts: it refuses everybody with 403, as somebody without a name (`anonymous`) or without any
   * right (`rights`), and is not ready.
   */
  readonly startUp: 'over' | 'anonymous' | 'rights';
  /** How many there may be in each namespace; null without a quota. */
  readonly shootsMax: number | null;
  readonly secretsMax: number | null;
  /** Fields that the garden is too old to know, e.g. `spec.maintenance.confineSpecUpdateRollout`. */
  readonly undeclaredFields: readonly string[];
  /** Fields that the provider's extension takes beyond those of its public builds. */
  readonly extensionFields: readonly ExtensionField[];
  /** Where the certificate authority of a Shoot is kept in its Project; older gardens have the Secret only. */
  readonly authorityIn: 'configmap' | 'secret' | 'nowhere';
}

const defaultSettings: GardenSettings = {
  ...defaultSpeed,
  historyLength: 5000,
  bookmarkMs: 60_000,
  expiry: 'stream',
  kubeconfigSecondsMax: 86_400,
  joinMs: 1000,
  startUp: 'over',
  shootsMax: null,
  secretsMax: null,
  undeclaredFields: [],
  extensionFields: [],
  authorityIn: 'configmap',
};

export interface SettingsStore {
  read(): GardenSettings;
  /** @throws Error when a value is not of its form; nothing has changed then */
  change(change: Partial<GardenSettings>): GardenSettings;
}

/** @param onChange told after every change */
export function createSettings(
  initial: Partial<GardenSettings>,
  onChange: (settings: GardenSettings) => void,
): SettingsStore {
  let settings = checked({ ...defaultSettings, ...initial });
  return {
    read: () => settings,
    change(change) {
      settings = checked({ ...settings, ...change });
      onChange(settings);
      return settings;
    },
  };
}

/** Of the network that nodes are made in, of nodes without public addresses, and of options of images. */
export const extensionFields = ['existingNetwork', 'publicIP', 'imageOptions'] as const;
export type ExtensionField = (typeof extensionFields)[number];

const listsOf: Readonly<Record<string, readonly string[] | null>> = { undeclaredFields: null, extensionFields };

const wordsOf: Readonly<Record<string, readonly string[]>> = {
  expiry: ['stream', 'status'],
  startUp: ['over', 'anonymous', 'rights'],
  authorityIn: ['configmap', 'secret', 'nowhere'],
};
const unbounded = ['shootsMax', 'secretsMax'];

function checked(settings: GardenSettings): GardenSettings {
  for (const [name, value] of Object.entries(settings)) {
    if (!Object.hasOwn(defaultSettings, name)) throw new Error(`The garden has no setting \`${name}\`.`);
    const words = wordsOf[name];
    if (words !== undefined) {
      if (!words.includes(value)) throw new Error(`\`${name}\` is ${words.map((word) => `'${word}'`).join(' or ')}.`);
    } else if (name in listsOf) {
      const known = listsOf[name] ?? null;
      const isList =
        Array.isArray(value) &&
        value.every((field) => typeof field === 'string' && (known === null || known.includes(field)));
      if (!isList) throw new Error(`\`${name}\` is a list of ${known === null ? 'fields' : known.join(', ')}.`);
    } else if (value === null ? !unbounded.includes(name) : !(Number.isFinite(value) && value >= 0)) {
      throw new Error(`\`${name}\` must be a number of at least 0.`);
    }
  }
  return settings;
}
