import { equalJson, type Fields, isFields } from '../kube/object.js';
import { emptySet, type FieldSet, fieldSet, leaf, union } from './field-set.js';
import { any, type FieldType, isAtomic, memberType } from './schema.js';

/** The path step to an item of a keyed list or a set. */
function itemStep(type: FieldType, item: unknown): string {
  if (type.is === 'list' && type.key !== undefined && isFields(item)) {
    return `k:${JSON.stringify({ [type.key]: item[type.key] })}`;
  }
  return `v:${JSON.stringify(item)}`;
}

interface Member {
  readonly step: string;
  readonly type: FieldType;
  readonly value: unknown;
  /** True for list items and map keys, which can be owned themselves. A struct field is owned through its contents. */
  readonly owned: boolean;
}

/** The members of a granular value; null for an atomic one. */
function membersOf(type: FieldType, value: unknown): Member[] | null {
  if (value === null || typeof value !== 'object' || isAtomic(type, value)) return null;
  if (Array.isArray(value)) {
    const of = type.is === 'list' || type.is === 'set' ? type.of : any;
    return value.map((item) => ({ step: itemStep(type, item), type: of, value: item, owned: true }));
  }
  return Object.entries(value).map(([name, item]) => {
    const known = type.is === 'struct' ? memberType(type, name) : null;
    return { step: `f:${name}`, type: memberType(type, name) ?? any, value: item, owned: known === null };
  });
}

/** The fields in a configuration. Its applier owns them. */
export function fieldsOf(type: FieldType, value: unknown): FieldSet {
  const members = membersOf(type, value);
  if (members === null) return leaf;
  return fieldSet(
    false,
    members.map((member): [string, FieldSet] => {
      const below = fieldsOf(member.type, member.value);
      const blank = isFields(member.value) && Object.keys(member.value).length === 0;
      return [member.step, { member: below.member || member.owned || blank, children: below.children }];
    }),
  );
}

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

const everything = (type: FieldType, value: unknown): FieldSet => {
  const members = membersOf(type, value) ?? [];
  return fieldSet(
    true,
    members.map((member): [string, FieldSet] => [member.step, everything(member.type, member.value)]),
  );
};

/** Compares two values field by field; undefined is an absent value. */
export function compare(type: FieldType, before: unknown, after: unknown): Comparison {
  const nothing = { added: emptySet, modified: emptySet, removed: emptySet };
  if (before === after) return nothing;
  if (before === undefined) return { ...nothing, added: everything(type, after) };
  if (after === undefined) return { ...nothing, removed: everything(type, before) };
  const [left, right] = [membersOf(type, before), membersOf(type, after)];
  if (left === null || right === null || Array.isArray(before) !== Array.isArray(after)) {
    return equalJson(before, after) ? nothing : { ...nothing, modified: leaf };
  }
  const rest = new Map(right.map((member) => [member.step, member]));
  const parts: [string, Comparison][] = left.map((member) => {
    const other = rest.get(member.step);
    rest.delete(member.step);
    return [member.step, compare(member.type, member.value, other?.value)];
  });
  for (const member of rest.values()) parts.push([member.step, compare(member.type, undefined, member.value)]);
  const gather = (which: keyof Comparison): FieldSet =>
    fieldSet(
      false,
      parts.map(([step, part]): [string, FieldSet] => [step, part[which]]),
    );
  return { added: gather('added'), modified: gather('modified'), removed: gather('removed') };
}

/** Merges a configuration into a live value. The configuration wins; fields that it omits stay. */
export function merge(type: FieldType, live: unknown, applied: unknown): unknown {
  if (applied === undefined) return live;
  if (Array.isArray(applied) && Array.isArray(live) && !isAtomic(type, applied)) return mergeItems(type, live, applied);
  if (!isFields(applied) || !isFields(live) || isAtomic(type, applied)) return applied;
  const merged: Fields = { ...live };
  for (const [name, value] of Object.entries(applied)) {
    merged[name] = merge(memberType(type, name) ?? any, live[name], value);
  }
  return merged;
}

/** Configuration items keep their order. Other items stay before the item that they preceded. */
function mergeItems(type: FieldType, live: readonly unknown[], applied: readonly unknown[]): unknown[] {
  const of = type.is === 'list' || type.is === 'set' ? type.of : any;
  const wanted = new Set(applied.map((item) => itemStep(type, item)));
  const known = new Map(live.map((item) => [itemStep(type, item), item]));
  const merged: unknown[] = [];
  let next = 0;
  const passUnclaimed = (): void => {
    while (next < live.length && !wanted.has(itemStep(type, live[next]))) merged.push(live[next++]);
  };
  for (const item of applied) {
    passUnclaimed();
    const step = itemStep(type, item);
    merged.push(merge(of, known.get(step), item));
    if (next < live.length && known.has(step)) next += 1;
  }
  passUnclaimed();
  return merged;
}

/** Removes fields and their contents. */
export function removeFields(type: FieldType, value: unknown, removed: FieldSet): unknown {
  if (removed.children.size === 0) return value;
  if (Array.isArray(value)) {
    if (isAtomic(type, value)) return value;
    const of = type.is === 'list' || type.is === 'set' ? type.of : any;
    return value.flatMap((item) => {
      const below = removed.children.get(itemStep(type, item));
      if (below === undefined) return [item];
      return below.member ? [] : [removeFields(of, item, below)];
    });
  }
  if (!isFields(value) || isAtomic(type, value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => {
      const below = removed.children.get(`f:${name}`);
      if (below === undefined) return [[name, item]];
      return below.member ? [] : [[name, removeFields(memberType(type, name) ?? any, item, below)]];
    }),
  );
}

/** Adds every struct field on the way to a member, so that a struct is removed together with its last owned field. */
export function withNamedFields(type: FieldType, set: FieldSet): FieldSet {
  return fieldSet(
    set.member,
    [...set.children].map(([step, child]): [string, FieldSet] => {
      const named = step.startsWith('f:') && type.is === 'struct' && memberType(type, step.slice(2)) !== null;
      const below = withNamedFields(stepType(type, step), child);
      return [step, named ? union(below, leaf) : below];
    }),
  );
}

function stepType(type: FieldType, step: string): FieldType {
  if (step.startsWith('f:')) return memberType(type, step.slice(2)) ?? any;
  return type.is === 'list' || type.is === 'set' ? type.of : any;
}
