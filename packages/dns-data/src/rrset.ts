import {
  assertNever,
  InvalidBody,
  parseAddRecords,
  parseChangeTtl,
  parseCreateRrset,
  parseRecordsBody,
  parseUpdateRrset,
  type RequestRecord,
  type Rrset,
  type TeamId,
} from '@corral/contracts';
import { applyEdits, findNodeAtLocation, modify, type Node, parseTree } from 'jsonc-parser';

/*
 * A record set: its key, its body, the writes to it, and what they do to the body.
 */

/** Identity of a record set. */
export interface RrsetKey {
  readonly zoneId: number;
  readonly name: string;
  readonly type: string;
}

/** The owner of the label that a name ends in: a team, or a demo in the demo zone. */
export interface RrsetOwner {
  readonly kind: 'team' | 'demo';
  readonly id: string;
  /** The team whose audit log has the write; null for a demo created with a course code. */
  readonly teamId: TeamId | null;
}

/** A write to one record set, as its request states it. */
export type RrsetWrite =
  | { operation: 'create'; ttl: number | null; labels: Record<string, string>; records: readonly RequestRecord[] }
  | { operation: 'set_records'; records: readonly RequestRecord[] }
  | { operation: 'add_records'; ttl: number | null; records: readonly RequestRecord[] }
  | { operation: 'remove_records'; records: readonly RequestRecord[] }
  | { operation: 'change_ttl'; ttl: number | null }
  | { operation: 'update'; labels: Record<string, string> | null }
  | { operation: 'delete' };
export type RrsetWriteKind = RrsetWrite['operation'];

/**
 * Parses the body of a write.
 *
 * @param body the parsed JSON; ignored for `delete`
 * @throws InvalidBody naming the invalid fields
 */
export function parseRrsetWrite(operation: RrsetWriteKind, body: unknown): RrsetWrite {
  switch (operation) {
    case 'create': {
      const { ttl, labels, records } = parseCreateRrset(body);
      return { operation, ttl: ttl ?? null, labels: labels ?? {}, records };
    }
    case 'add_records': {
      const { ttl, records } = parseAddRecords(body);
      return { operation, ttl: ttl ?? null, records };
    }
    case 'set_records':
    case 'remove_records':
      return { operation, records: parseRecordsBody(body).records };
    case 'change_ttl':
      return { operation, ttl: parseChangeTtl(body).ttl };
    case 'update':
      return { operation, labels: parseUpdateRrset(body).labels ?? null };
    case 'delete':
      return { operation };
    default:
      return assertNever(operation);
  }
}

/** Parses a stored write. Null when the text no longer parses: the write's effect is then unknown. */
export function parseStoredWrite(operation: string, requestBody: string | null): RrsetWrite | null {
  try {
    return parseRrsetWrite(operation as RrsetWriteKind, requestBody === null ? {} : JSON.parse(requestBody));
  } catch (error) {
    if (error instanceof InvalidBody || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The upstream sent a set in a shape that the mirror cannot store. Other sets are unaffected. */
export class UnusableRrset extends Error {
  override readonly name = 'UnusableRrset';
}

/** @throws UnusableRrset when the body has no records, which the mirror counts and rules compare */
export function assertUsable(body: string): void {
  const { records } = JSON.parse(body) as { records?: unknown };
  const isUsable =
    Array.isArray(records) && records.length > 0 && records.every((record) => typeof record?.value === 'string');
  if (!isUsable) throw new UnusableRrset('The upstream stated a record set without usable records.');
}

/** Parses a mirrored body. */
export function readRrsetBody(body: string): Rrset {
  return JSON.parse(body) as Rrset;
}

export function recordCountOf(body: string | null): number {
  return body === null ? 0 : readRrsetBody(body).records.length;
}

/**
 * Computes a record set after an accepted write: the body the upstream would state, or null when the set is gone.
 * Members that the write does not touch, unknown ones included, keep their bytes.
 *
 * @param current the mirrored body before the write, null when the set was absent
 * @param stated the `rrset` of the upstream's answer, returned unchanged when present
 */
export function effectOf(
  key: RrsetKey,
  current: string | null,
  write: RrsetWrite,
  stated: string | null,
): string | null {
  if (stated !== null) return stated;
  switch (write.operation) {
    case 'delete':
      return null;
    case 'create':
      return newBody(key, write);
    case 'set_records':
      return current === null
        ? newBody(key, { ttl: null, labels: {}, records: write.records })
        : withMember(current, 'records', write.records.map(answerRecord));
    case 'add_records':
      return current === null
        ? newBody(key, { ttl: write.ttl, labels: {}, records: write.records })
        : withRecordsAdded(current, write.records);
    case 'remove_records':
      return current === null ? null : withRecordsRemoved(current, write.records);
    case 'change_ttl':
      return current === null ? null : withMember(current, 'ttl', write.ttl);
    case 'update':
      return current === null || write.labels === null ? current : withMember(current, 'labels', write.labels);
    default:
      return assertNever(write);
  }
}

/**
 * Whether a record set read after a write shows its effect. Comments and labels stated by the write count too, since
 * the values may have been there before.
 *
 * @param found the body read upstream, null when the set is absent there
 */
export function showsEffect(found: string | null, write: RrsetWrite): boolean {
  if (found === null) return write.operation === 'delete' || write.operation === 'remove_records';
  const { ttl, labels, records } = readRrsetBody(found);
  const comments = new Map(records.map((record) => [record.value, record.comment]));
  const holds = ({ value, comment }: RequestRecord) =>
    comments.has(value) && (comment == null || comments.get(value) === comment);
  const isAllOf = (wanted: readonly RequestRecord[]) => wanted.every(holds) && comments.size === wanted.length;
  switch (write.operation) {
    case 'create':
      return ttl === write.ttl && sameLabels(labels, write.labels) && isAllOf(write.records);
    case 'set_records':
      return isAllOf(write.records);
    case 'add_records':
      return write.records.every(holds);
    case 'remove_records':
      return !write.records.some((record) => comments.has(record.value));
    case 'change_ttl':
      return ttl === write.ttl;
    case 'update':
      return write.labels === null || sameLabels(labels, write.labels);
    case 'delete':
      return false;
    default:
      return assertNever(write);
  }
}

export function sameLabels(one: Record<string, string>, other: Record<string, string>): boolean {
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && one[key] === other[key])
  );
}

function newBody(
  { zoneId, name, type }: RrsetKey,
  set: { ttl: number | null; labels: Record<string, string>; records: readonly RequestRecord[] },
): string {
  const { ttl, labels, records } = set;
  const rest = { ttl, labels, protection: { change: false }, records: records.map(answerRecord), zone: zoneId };
  return JSON.stringify({ id: `${name}/${type}`, name, type, ...rest });
}

/** Answers always have a comment, empty when unset. Unknown members of a record are kept. */
function answerRecord(record: RequestRecord): object {
  return { ...record, comment: record.comment ?? '' };
}

function withRecordsAdded(current: string, added: readonly RequestRecord[]): string {
  const present = new Set(readRrsetBody(current).records.map((record) => record.value));
  const fresh = added
    .filter((record) => !present.has(record.value))
    .map((record) => JSON.stringify(answerRecord(record)));
  return withRecords(current, (texts) => [...texts, ...fresh]);
}

function withRecordsRemoved(current: string, removed: readonly RequestRecord[]): string | null {
  const gone = new Set(removed.map((record) => record.value));
  const stays = readRrsetBody(current).records.map((record) => !gone.has(record.value));
  if (!stays.includes(true)) return null;
  return withRecords(current, (texts) => texts.filter((_text, at) => stays[at]));
}

/** Changes the list of records as texts, so that unchanged records keep their bytes. */
function withRecords(body: string, change: (texts: string[]) => string[]): string {
  const list = findNodeAtLocation(parseTree(body) as Node, ['records']) as Node;
  const texts = (list.children ?? []).map(({ offset, length }) => body.slice(offset, offset + length));
  return `${body.slice(0, list.offset)}[${change(texts).join(',')}]${body.slice(list.offset + list.length)}`;
}

/** Replaces the value of one member and keeps all other bytes. */
export function withMember(body: string, member: string, value: unknown): string {
  return applyEdits(body, modify(body, [member], value, {}));
}

export type Comparison =
  | 'same'
  /**
   * Equivalent: it differs in spelling or in fields we do not compare. Update the mirrored text without reporting
   * drift.
   */
  | 'restated'
  | 'drifted';

/** The upstream changes the serial of this set with every change in the zone. */
const SELF_CHANGING_TYPE = 'SOA';

/**
 * Compares a mirrored set with the upstream's. Records compare as a set, since the upstream does not keep their order.
 *
 * @param mirrored the mirrored body, null when the mirror has no such set
 * @param found the upstream's body, null when absent there
 */
export function compareRrset(type: string, mirrored: string | null, found: string | null): Comparison {
  if (mirrored === found) return 'same';
  if (mirrored === null || found === null) return 'drifted';
  if (type === SELF_CHANGING_TYPE) return 'restated';
  const one = readRrsetBody(mirrored);
  const other = readRrsetBody(found);
  const agrees =
    one.ttl === other.ttl &&
    one.protection?.change === other.protection?.change &&
    sameLabels(one.labels ?? {}, other.labels ?? {}) &&
    sameLabels(commentsByValue(one), commentsByValue(other));
  return agrees ? 'restated' : 'drifted';
}

function commentsByValue(rrset: Rrset): Record<string, string> {
  return Object.fromEntries(rrset.records.map((record) => [record.value, record.comment ?? '']));
}
