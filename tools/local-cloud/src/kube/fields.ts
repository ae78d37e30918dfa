import { StatusError } from './errors.js';
import { equalJson, type Fields, isFields, type KubeObject, type ManagedFieldsEntry } from './object.js';

/** The one who writes, and the time. */
export interface Manager {
  readonly name: string;
  /** RFC 3339. */
  readonly at: string;
}

/**
 * The fields of an object with their values, by their paths: lines of steps, written as in `FieldsV1`. Members are leaves and the
 * pools of a Shoot, which go by their names; other lists are leaves. What only the server sets is left out.
 */
type Leaves = Map<string, unknown>;
type Owned = Set<string>;
type Share = Omit<ManagedFieldsEntry, 'fieldsV1'> & { owned: Owned };

/** Fields that only the server sets, and those with a separate owner. */
const unowned =
  /^(|f:(apiVersion|kind|status)(\n.*)?|f:metadata(\nf:(name|namespace|uid|resourceVersion|generation|creationTimestamp|deletionTimestamp|managedFields)(\n.*)?)?)$/s;

/** The one list of an object whose items are owned by name. */
const KEYED = 'f:spec\nf:provider\nf:workers';

const isItem = (path: string): boolean => path.startsWith(`${KEYED}\nk:`) && path.split('\n').length === 4;
const isEmpty = (value: unknown): boolean => isFields(value) && Object.keys(value).length === 0;

function leavesOf(value: unknown, at = '', leaves: Leaves = new Map()): Leaves {
  const below = (step: string): string => (at === '' ? step : `${at}\n${step}`);
  if (isFields(value) && !isEmpty(value)) {
    for (const [name, item] of Object.entries(value)) {
      if (item !== undefined) leavesOf(item, below(`f:${name}`), leaves);
    }
  } else if (Array.isArray(value) && at === KEYED) {
    for (const item of value) {
      const path = below(`k:${JSON.stringify({ name: isFields(item) ? item.name : undefined })}`);
      leaves.set(path, {});
      leavesOf(item, path, leaves);
    }
  } else if (!unowned.test(at)) leaves.set(at, value);
  return leaves;
}

/** The object of these leaves. */
function objectFrom(leaves: Leaves): Fields {
  const root: Fields = {};
  for (const [path, value] of leaves) {
    const steps = path.split('\n').map((step) => step.slice(2));
    const last = steps.pop() ?? '';
    let at = root;
    for (const step of steps) {
      at[step] = isFields(at[step]) ? at[step] : {};
      at = at[step] as Fields;
    }
    // What was empty when it was declared may hold fields by now.
    if (!isEmpty(value) || at[last] === undefined) at[last] = isEmpty(value) ? {} : value;
  }
  const provider = isFields(root.spec) && isFields(root.spec.provider) ? root.spec.provider : {};
  if (isFields(provider.workers)) provider.workers = Object.values(provider.workers);
  return root;
}

/** What a write changes, and what it removes. */
function differences(before: Leaves, after: Leaves): { changed: Owned; removed: Owned } {
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

/** The share of a manager among all, and those of the others. */
function divided(shares: readonly Share[], { name }: Manager, operation: Share['operation']) {
  const isMine = (share: Share): boolean => share.manager === name && share.operation === operation;
  return { mine: shares.find(isMine), others: shares.filter((share) => !isMine(share)) };
}

/**
 * The owners after a write other than an apply: the writer owns every field that it changed.
 *
 * @param live null for a create
 */
export function ownersAfterUpdate(live: KubeObject | null, next: KubeObject, manager: Manager): ManagedFieldsEntry[] {
  const { changed, removed } = differences(leavesOf(live ?? {}), leavesOf(next));
  const { mine, others } = divided(live === null ? [] : sharesOf(live), manager, 'Update');
  const kept = others.map((share) => ({ ...share, owned: without(share.owned, changed, removed) }));
  if (mine !== undefined && changed.size + removed.size === 0) return entriesOf([...kept, mine]);
  const owned = new Set([...without(mine?.owned ?? new Set(), removed), ...changed]);
  return entriesOf([...kept, newShare(manager, 'Update', next, owned)]);
}

/**
 * Server-side apply: takes what is declared, removes what the manager declared before and nobody else owns, and keeps the rest. New
 * pools come last.
 *
 * @param live null if the object does not exist
 * @throws StatusError 409 with one cause for each changed field that another manager owns, unless forced
 */
export function applied(live: KubeObject | null, declared: KubeObject, manager: Manager, force: boolean): KubeObject {
  const { mine, others } = divided(live === null ? [] : sharesBefore(live, manager), manager, 'Apply');
  const [before, wanted] = [leavesOf(live ?? {}), leavesOf(declared)];
  const owned = new Set(wanted.keys());
  const dropped = without(mine?.owned ?? new Set(), owned, ...others.map((share) => share.owned));
  const goneItems = [...dropped].filter(isItem);
  const isKept = ([path]: [string, unknown]): boolean =>
    !dropped.has(path) && !goneItems.some((item) => path.startsWith(`${item}\n`));
  const after: Leaves = new Map([...before].filter(isKept).concat([...wanted]));

  const { changed, removed } = differences(before, after);
  const conflicts = others.flatMap((share) =>
    [...share.owned].filter((path) => changed.has(path)).map((path) => ({ share, field: shownPath(path) })),
  );
  if (conflicts.length > 0 && !force) throw applyConflict(conflicts);
  const kept = others.map((share) => ({ ...share, owned: without(share.owned, changed, removed) }));
  const isSame = mine !== undefined && mine.owned.size === owned.size && without(owned, mine.owned).size === 0;
  const own = isSame && changed.size + removed.size === 0 ? mine : newShare(manager, 'Apply', declared, owned);
  const { metadata, ...fields } = objectFrom(after) as Partial<KubeObject>;
  return {
    ...declared,
    ...(live?.status === undefined ? {} : { status: live.status }),
    ...fields,
    metadata: { ...declared.metadata, ...metadata, managedFields: entriesOf([...kept, own]) },
  };
}

/** If nobody is known to own anything, as after a restore, the first apply finds all in the hands of `before-first-apply`. */
function sharesBefore(live: KubeObject, { at }: Manager): Share[] {
  const shares = sharesOf(live);
  if (shares.length > 0) return shares;
  return [newShare({ name: 'before-first-apply', at }, 'Update', live, new Set(leavesOf(live).keys()))];
}

function toFieldsV1(owned: Owned): Fields {
  const root: Fields = {};
  for (const path of [...owned].sort()) {
    let at = root;
    for (const step of path.split('\n')) {
      at[step] ??= {};
      at = at[step] as Fields;
    }
    if (isItem(path)) at['.'] = {};
  }
  return root;
}

function fromFieldsV1(fields: Fields, at = '', owned: Owned = new Set()): Owned {
  for (const [step, members] of Object.entries(fields)) {
    const path = at === '' ? step : `${at}\n${step}`;
    if (step === '.') owned.add(at);
    else if (isEmpty(members)) owned.add(path);
    else fromFieldsV1(members as Fields, path, owned);
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
  const causes = conflicts.map(({ share: { manager }, field }) => {
    return { reason: 'FieldManagerConflict', message: `conflict with ${JSON.stringify(manager)}`, field };
  });
  const what = causes.map(({ message, field }) => `${message}: ${field}`).join('\n');
  return new StatusError(409, `Apply failed with ${causes.length} conflicts: ${what}`, { causes });
}
