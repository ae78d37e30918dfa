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
}

const defaultSettings: GardenSettings = {
  ...defaultSpeed,
  historyLength: 5000,
  bookmarkMs: 60_000,
  expiry: 'stream',
  kubeconfigSecondsMax: 86_400,
  joinMs: 1000,
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

function checked(settings: GardenSettings): GardenSettings {
  for (const [name, value] of Object.entries(settings)) {
    if (!Object.hasOwn(defaultSettings, name)) throw new Error(`The garden has no setting \`${name}\`.`);
    if (name === 'expiry') {
      if (value !== 'stream' && value !== 'status') throw new Error("`expiry` is 'stream' or 'status'.");
    } else if (!(Number.isFinite(value) && value >= 0)) throw new Error(`\`${name}\` must be a number of at least 0.`);
  }
  return settings;
}
