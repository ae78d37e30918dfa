import type { Clock } from '../clock.js';
import { createSettings, type GardenSettings, type SettingsStore } from './garden-settings.js';
import { kindOf } from './kinds/all-kinds.js';
import { cloudProfiles } from './kinds/cloud-profile.js';
import { namespaces } from './kinds/core-kinds.js';
import type { Kind } from './kinds/kind.js';
import type { KubeObject } from './kube/object.js';
import { Objects } from './rest/objects.js';
import { hcloudProfile } from './seed/hcloud-profile.js';
import { ShootHistory } from './shoot-history.js';
import { openGardenJournal } from './store/garden-journal.js';
import type { StoreRecord } from './store/held.js';
import { ObjectStore } from './store/object-store.js';

/** What a garden holds, before anybody can reach it. */
export interface OpenGarden {
  readonly store: ObjectStore;
  readonly objects: Objects;
  readonly history: ShootHistory;
  readonly settings: SettingsStore;
  close(): void;
}

/** Opens the garden that the data folder holds, or a new one. */
export function openGarden(dataDir: string | undefined, initial: Partial<GardenSettings>, clock: Clock): OpenGarden {
  const journal = dataDir === undefined ? null : openGardenJournal(dataDir);
  const settings = createSettings(initial, ({ historyLength }) => store.setHistoryLength(historyLength));
  const history = new ShootHistory();
  const store = new ObjectStore({
    historyLength: settings.read().historyLength,
    now: clock.now,
    fieldsOf: selectableFields,
    ...(journal === null ? {} : { keep: (line: string) => journal.append(line) }),
  });
  for (const line of journal?.read() ?? []) {
    const record = JSON.parse(line) as StoreRecord;
    if (!history.restore(record)) store.restore(record);
  }
  store.forgetHistory();
  history.follow(store, clock.now);
  journal?.compact(function* () {
    // The lives first: the Shoots that follow are among them.
    yield* history.lines();
    yield* store.lines();
  });
  const objects = new Objects({ store, clock, settings: settings.read });
  furnish(store, objects);
  return { store, objects, history, settings, close: () => journal?.close() };
}

function selectableFields(resource: string, object: KubeObject): Record<string, string> {
  const { name = '', namespace = '' } = object.metadata;
  const known = (kindOf(resource)?.selectable ?? []).map(({ field, read }) => [field, read(object)]);
  return { 'metadata.name': name, 'metadata.namespace': namespace, ...Object.fromEntries(known) };
}

/** Puts in place what every garden has from the start. */
function furnish(store: ObjectStore, objects: Objects): void {
  const write = { user: 'system:admin', fieldManager: 'garden-operator', subresource: '', dryRun: false } as const;
  const create = (kind: Kind, object: KubeObject): void => {
    if (store.get(kind.plural, '', object.metadata.name ?? '') === null) objects.create(kind, '', object, write);
  };
  for (const name of ['default', 'garden']) {
    create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  create(cloudProfiles, hcloudProfile);
}
