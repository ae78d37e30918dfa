import { ApiError, invalidInput, notFound } from '../hcloud/api-error.js';
import { type DnsRecord, isRrsetType, nameProblem, type Rrset } from './model.js';
import { type Command, type RecordEdit, valueField } from './parse-command.js';
import { isRecordValue } from './record-values.js';

/** The state that the rules read. Its size does not depend on the zone. */
export interface Target {
  readonly zoneName: string;
  readonly name: string;
  readonly type: string;
  readonly current: Rrset | null;
  /** Types of all sets at the name, including `current`. */
  readonly typesAtName: readonly string[];
}

/**
 * Computes the effect of a write on one set.
 *
 * @returns the set after the write; null if it is removed
 * @throws ApiError with the upstream's status and code if the write is refused
 */
export function decideWrite(command: Command, target: Target): Rrset | null {
  const { current } = target;
  if (command.kind === 'create') {
    if (current !== null) {
      throw new ApiError(409, 'uniqueness_error', 'RRSet already exists', { fields: [{ name: 'name' }] });
    }
    return checked(command, target, newRrset(target, command.ttl, command.records, command.labels));
  }
  if (current === null) {
    if (command.kind !== 'add_records') throw notFound('rrset');
    return checked(command, target, newRrset(target, command.ttl, command.records));
  }
  if (command.kind === 'put_labels') return { ...current, labels: command.labels ?? current.labels };
  const next = change(command, current);
  return next === null ? null : checked(command, target, next);
}

type Change = Exclude<Command, { kind: 'create' | 'put_labels' }>;

function change(command: Change, current: Rrset): Rrset | null {
  switch (command.kind) {
    case 'delete':
      return null;
    case 'set_records':
      return { ...current, records: command.records.map(toRecord) };
    case 'add_records':
      return addRecords(command, current);
    case 'remove_records':
      return removeRecords(command.records, current);
    case 'change_ttl':
      return { ...current, ttl: command.ttl };
  }
}

function addRecords(command: Extract<Command, { kind: 'add_records' }>, current: Rrset): Rrset {
  const present = new Set(current.records.map((record) => record.value));
  for (const [index, { value }] of command.records.entries()) {
    if (present.has(value)) throw invalidInput(valueField(command.kind, index), `duplicate value '${value}'`);
  }
  if (command.ttl !== null && command.ttl !== current.ttl) {
    throw invalidInput('ttl', 'RRSet has differing record TTLs');
  }
  return { ...current, records: [...current.records, ...command.records.map(toRecord)] };
}

function removeRecords(leaving: readonly RecordEdit[], current: Rrset): Rrset | null {
  const present = new Set(current.records.map((record) => record.value));
  for (const [index, { value }] of leaving.entries()) {
    if (!present.has(value)) throw invalidInput(valueField('remove_records', index), `value '${value}' not found`);
  }
  const values = new Set(leaving.map((record) => record.value));
  const records = current.records.filter((record) => !values.has(record.value));
  return records.length === 0 ? null : { ...current, records };
}

function newRrset({ name, type }: Target, ttl: number | null, records: readonly RecordEdit[], labels = {}): Rrset {
  return { name, type, ttl, labels, protection: { change: false }, records: records.map(toRecord) };
}

/** Checks the rules that apply to the result of every write. */
function checked(command: Command, target: Target, next: Rrset): Rrset {
  if (target.current === null) checkIdentity(target);
  if ('records' in command) checkValues(command, next);
  return next;
}

function checkIdentity({ zoneName, name, type, typesAtName }: Target): void {
  const problem = nameProblem(name, zoneName);
  if (problem !== null) throw invalidInput('rrsets[0].name', problem);
  if (!isRrsetType(type)) throw invalidInput('rrsets[0].type', `invalid type '${type}'`);
  const others = typesAtName.filter((other) => other !== type);
  if (type === 'CNAME' ? others.length > 0 : others.includes('CNAME')) {
    throw invalidInput('rrsets[0].name', `CNAME cannot coexist with other types at '${name}'`);
  }
}

function checkValues(command: Extract<Command, { records: unknown }>, next: Rrset): void {
  const { type } = next;
  for (const [index, { value }] of command.records.entries()) {
    if (command.kind !== 'remove_records' && !isRecordValue(type, value)) {
      throw invalidInput(valueField(command.kind, index), `invalid value '${value}'`);
    }
  }
  if (type === 'CNAME' && next.records.length > 1) {
    throw invalidInput(command.kind === 'create' ? 'rrsets[0].records' : 'records', 'CNAME takes exactly one record');
  }
}

const toRecord = ({ value, comment }: RecordEdit): DnsRecord => ({ value, comment });
