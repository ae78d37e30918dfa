import { StatusError } from './errors.js';
import { equalJson, type Fields, isFields, type KubeObject, type ManagedFieldsEntry } from './object.js';

/** The one who writes, and the time. */
export interface Manager {
  readonly name: string;
  /** RFC 3339. */
  readonly at: string;
}

/**
 * Fields by their paths: lines of steps, written as in `FieldsV1`. Members are leaves and the items of lists with keys; all
 * other lists are leaves.
 */
type Paths = ReadonlyMap<string, unknown>;
type Owned = Set<string>;
type Share = Omit<ManagedFieldsEntry, 'fieldsV1'> & { owned: Owned };

/** Fields that only the server sets, and those with a separate owner. */
const unowned =
  /^(|f:(apiVersion|kind|status)(\n.*)?|f:metadata(\nf:(name|namespace|uid|resourceVersion|generation|creationTimestamp|deletionTimestamp|managedFields)(\n.*)?)?)$/s;

/** The one list of an object whose items are owned by name. */
const KEYED = 'f:spec\nf:provider\nf:workers';

const itemStep = (item: unknown): string => `k:${JSON.stringify({ name: isFields(item) ? item.name : undefined })}`;
const below = (at: string, step: string): string => (at === '' ? step : `${at}\n${step}`);

function pathsOf(value: unknown, at = '', paths = new Map<string, unknown>()): Map<string, unknown> {
  if (isFields(value) && Object.keys(value).length > 0) {
    for (const [name, item] of Object.entries(value))
      if (item !== undefined) pathsOf(item, below(at, `f:${name}`), paths);
  } else if (Array.isArray(value) && at === KEYED) {
    for (const item of value) {
      const path = below(at, itemStep(item));
      paths.set(path, null);
      if (isFields(item)) pathsOf(item, path, paths);
    }
  } else if (!unowned.test(at)) paths.set(at, value);
  return paths;
}

/** What a write changes, and what it removes. */
function differences(before: Paths, after: Paths): { changed: Owned; removed: Owned } {
  const isChanged = ([path, value]: [string, unknown]): boolean =>
    !before.has(path) || !equalJson(before.get(path), value);
  return {
    changed: new Set([...after].filter(isChanged).map(([path]) => path)),
    removed: new Set([...before.keys()].filter((path) => !after.has(path))),
  };
}

const without = (owned: Owned, ...gone: readonly Owned[]): Owned =>
  new Set([...owned].filter((path) => !gone.some((set) => set.has(path))));

const sharesOf = ({ metadata }: KubeObject): Share[] =>
  (metadata.managedFields ?? []).map(({ fieldsV1, ...share }) => ({ ...share, owned: fromFieldsV1(fieldsV1) }));

const entriesOf = (shares: readonly Share[]): ManagedFieldsEntry[] =>
  shares
    .filter(({ owned }) => owned.size > 0)
    .map(({ owned, ...share }) => ({ ...share, fieldsV1: toFieldsV1(owned) }));

const newShare = (
  manager: Manager,
  operation: Share['operation'],
  { apiVersion }: KubeObject,
  owned: Owned,
): Share => ({ manager: manager.name, operation, apiVersion, time: manager.at, fieldsType: 'FieldsV1', owned });

/**
 * The owners after a write other than an apply: the writer owns every field that it changed.
 *
 * @param live null for a create
 */
export function ownersAfterUpdate(live: KubeObject | null, next: KubeObject, manager: Manager): ManagedFieldsEntry[] {
  const shares = live === null ? [] : sharesOf(live);
  const { changed, removed } = differences(pathsOf(live ?? {}), pathsOf(next));
  const isMine = (share: Share): boolean => share.manager === manager.name && share.operation === 'Update';
  const mine = shares.find(isMine);
  const others = shares.filter((share) => !isMine(share));
  const kept = others.map((share) => ({ ...share, owned: without(share.owned, changed, removed) }));
  if (mine !== undefined && changed.size + removed.size === 0) return entriesOf([...kept, mine]);
  const owned = new Set([...without(mine?.owned ?? new Set(), removed), ...changed]);
  return entriesOf([...kept, newShare(manager, 'Update', next, owned)]);
}

/**
 * Server-side apply: takes what is declared, removes what the manager declared before and nobody else owns, and keeps the rest.
 *
 * @param live null if the object does not exist
 * @throws StatusError 409 with one cause for each changed field that another manager owns, unless forced
 */
export function applied(live: KubeObject | null, declared: KubeObject, manager: Manager, force: boolean): KubeObject {
  const isMine = (share: Share): boolean => share.manager === manager.name && share.operation === 'Apply';
  const shares = live === null ? [] : sharesBefore(live, manager);
  const others = shares.filter((share) => !isMine(share));
  const mine = shares.find(isMine);
  const owned = new Set(pathsOf(declared).keys());
  const dropped = without(mine?.owned ?? new Set(), owned, ...others.map((share) => share.owned));
  const merged = live === null ? declared : (withoutPaths(merge(live, declared, ''), dropped, owned) as KubeObject);

  const { changed, removed } = differences(pathsOf(live ?? {}), pathsOf(merged));
  const conflicts = others.flatMap((share) =>
    [...share.owned].filter((path) => changed.has(path)).map((path) => ({ share, field: shownPath(path) })),
  );
  if (conflicts.length > 0 && !force) throw applyConflict(conflicts);
  const kept = others.map((share) => ({ ...share, owned: without(share.owned, changed, removed) }));
  const isSame = mine !== undefined && mine.owned.size === owned.size && without(owned, mine.owned).size === 0;
  const own = isSame && changed.size + removed.size === 0 ? mine : newShare(manager, 'Apply', declared, owned);
  return { ...merged, metadata: { ...merged.metadata, managedFields: entriesOf([...kept, own]) } };
}

/** If nobody is known to own anything, as after a restore, the first apply finds all in the hands of `before-first-apply`. */
function sharesBefore(live: KubeObject, { at }: Manager): Share[] {
  const shares = sharesOf(live);
  if (shares.length > 0) return shares;
  return [newShare({ name: 'before-first-apply', at }, 'Update', live, new Set(pathsOf(live).keys()))];
}

function merge(live: unknown, declared: unknown, at: string): unknown {
  if (isFields(live) && isFields(declared)) {
    const merged: Fields = { ...live };
    for (const [name, value] of Object.entries(declared)) {
      merged[name] = merge(live[name], value, below(at, `f:${name}`));
    }
    return merged;
  }
  return Array.isArray(live) && Array.isArray(declared) && at === KEYED ? mergeItems(live, declared) : declared;
}

/** Declared items keep their order. Other items stay before the item that they preceded. */
function mergeItems(live: readonly unknown[], declared: readonly unknown[]): unknown[] {
  const wanted = new Set(declared.map((item) => itemStep(item)));
  const known = new Map(live.map((item) => [itemStep(item), item]));
  const rest = [...live];
  const takeOthers = (): unknown[] => {
    const end = rest.findIndex((item) => wanted.has(itemStep(item)));
    return rest.splice(0, end < 0 ? rest.length : end);
  };
  const merged = declared.flatMap((item) => {
    const before = takeOthers();
    const step = itemStep(item);
    if (known.has(step)) rest.shift();
    return [...before, merge(known.get(step), item, below(KEYED, step))];
  });
  return [...merged, ...takeOthers()];
}

/** The value without these fields, and without the objects that they leave empty, unless those are declared. */
function withoutPaths(value: unknown, gone: Owned, declared: Owned, at = ''): unknown {
  if (Array.isArray(value)) {
    if (at !== KEYED) return value;
    const kept = value.filter((item) => !gone.has(below(at, itemStep(item))));
    return kept.map((item) => withoutPaths(item, gone, declared, below(at, itemStep(item))));
  }
  if (!isFields(value)) return value;
  const kept = Object.entries(value).flatMap(([name, item]): [string, unknown][] => {
    const path = below(at, `f:${name}`);
    const left = withoutPaths(item, gone, declared, path);
    const isEmptied = isFields(left) && Object.keys(left).length === 0 && !equalJson(left, item);
    // What was empty when it was declared may hold fields by now.
    const isGone = gone.has(path) && !(isFields(item) && Object.keys(item).length > 0);
    return isGone || (isEmptied && !declared.has(path)) ? [] : [[name, left]];
  });
  return Object.fromEntries(kept);
}

function toFieldsV1(owned: Owned): Fields {
  const root: Fields = {};
  for (const path of [...owned].sort()) {
    let at = root;
    for (const step of path.split('\n')) {
      at[step] ??= {};
      at = at[step] as Fields;
    }
    const isItem = /\nk:[^\n]*$/.test(path);
    if (isItem) at['.'] = {};
  }
  return root;
}

function fromFieldsV1(fields: Fields, at = '', owned: Owned = new Set()): Owned {
  for (const [step, members] of Object.entries(fields)) {
    const path = below(at, step);
    if (step === '.') owned.add(at);
    else if (isFields(members) && Object.keys(members).length > 0) fromFieldsV1(members, path, owned);
    else owned.add(path);
  }
  return owned;
}

/** The path as in messages of Kubernetes, for example `.spec.provider.workers[name="a"].maximum`. */
const shownPath = (path: string): string =>
  path
    .split('\n')
    .map((step) =>
      step.startsWith('f:') ? `.${step.slice(2)}` : `[name=${JSON.stringify(JSON.parse(step.slice(2)).name)}]`,
    )
    .join('');

function applyConflict(conflicts: readonly { share: Share; field: string }[]): StatusError {
  const causes = conflicts.map(({ share: { manager, operation, apiVersion, time }, field }) => {
    const shown = operation === 'Apply' ? '' : ` using ${apiVersion} at ${time}`;
    return { reason: 'FieldManagerConflict', message: `conflict with ${JSON.stringify(manager)}${shown}`, field };
  });
  const what = causes.map(({ message, field }) => `${message}: ${field}`).join('\n');
  const count = `${causes.length} conflict${causes.length === 1 ? '' : 's'}`;
  return new StatusError(409, 'Conflict', `Apply failed with ${count}: ${what}`, { causes });
}
