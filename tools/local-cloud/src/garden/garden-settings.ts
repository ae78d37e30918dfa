import { defaultSpeed, type GardenSpeed } from './gardenlet/flow-plan.js';

/** Optional fields of the provider extension, supported only by some builds: for networks, nodes and images. */
export const extensionFields = ['existingNetwork', 'publicIP', 'imageOptions'] as const;
export type ExtensionField = (typeof extensionFields)[number];

/** Settings that can change at run time. */
export interface GardenSettings extends GardenSpeed {
  /** Number of past events per resource that watches can resume from. */
  readonly historyLength: number;
  /** Interval of bookmarks in watches that request them, in milliseconds. */
  readonly bookmarkMs: number;
  /** Maximum lifetime of a kubeconfig, in seconds. Longer requests are shortened to it. */
  readonly kubeconfigSecondsMax: number;
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
  /** Additional fields that this build of the provider extension supports. */
  readonly extensionFields: readonly ExtensionField[];
  /** Where the Project stores the certificate authority of a Shoot. */
  readonly authorityIn: 'configmap' | 'nowhere';
}

const defaultSettings: GardenSettings = {
  ...defaultSpeed,
  historyLength: 5000,
  bookmarkMs: 60_000,
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
  /** @throws Error for an invalid value; nothing has changed then */
  change(change: Partial<GardenSettings>): GardenSettings;
}

/** @param onChange called after every change */
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

type Form = readonly [is: (value: unknown) => boolean, form: string];

const count: Form = [(value) => Number.isFinite(value) && Number(value) >= 0, 'a number of at least 0'];
const optionalCount: Form = [(value) => value === null || count[0](value), `${count[1]}, or null`];
const oneOf = (...words: string[]): Form => [(value) => words.includes(String(value)), `one of ${words.join(', ')}`];
const listOf = (is: (item: unknown) => boolean, form: string): Form => [
  (value) => Array.isArray(value) && value.every(is),
  `a list of ${form}`,
];

/** Validation of settings that are not counts. */
const forms: Readonly<Partial<Record<keyof GardenSettings, Form>>> = {
  startUp: oneOf('over', 'anonymous', 'rights'),
  authorityIn: oneOf('configmap', 'nowhere'),
  shootsMax: optionalCount,
  secretsMax: optionalCount,
  undeclaredFields: listOf((item) => typeof item === 'string', 'fields'),
  extensionFields: listOf((item) => extensionFields.includes(item as ExtensionField), extensionFields.join(', ')),
};

function checked(settings: GardenSettings): GardenSettings {
  for (const [name, value] of Object.entries(settings)) {
    if (!Object.hasOwn(defaultSettings, name)) throw new Error(`The garden has no setting \`${name}\`.`);
    const [is, form] = forms[name as keyof GardenSettings] ?? count;
    if (!is(value)) throw new Error(`\`${name}\` is ${form}.`);
  }
  return settings;
}
