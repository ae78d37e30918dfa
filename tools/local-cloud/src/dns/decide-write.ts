import { ApiError, type Body, checkedLabels, invalidInput, notFound } from '../hcloud/answers.js';
import { type DnsRecord, type Rrset, rrsetTypes } from './model.js';
import { isRecordValue } from './record-values.js';

/** The state that the rules read. */
export interface Target {
  readonly name: string;
  readonly type: string;
  readonly current: Rrset | null;
  /** Types of all sets at the name, including `current`. */
  readonly typesAtName: readonly string[];
}

export interface WriteKind {
  /** The command of the action in the response; null for the write without an action. */
  readonly command: string | null;
  /**
   * Computes the effect of a write on one set.
   *
   * @returns the set after the write; null if it is removed
   * @throws ApiError with the upstream's status and code if the write is refused
   */
  decide(target: Target, body: Body): Rrset | null;
}

export const rrsetWrites = {
  create: {
    command: 'create_rrset',
    decide(target, { ttl = null, labels = {}, records }) {
      const made = newRrset(target, checkedTtl(ttl), recordsIn(records, at.create), checkedLabels(labels));
      if (target.current !== null) {
        throw new ApiError(409, 'uniqueness_error', 'RRSet already exists', { fields: [{ name: 'name' }] });
      }
      return checked(target, made, made.records, at.create);
    },
  },
  remove: {
    command: 'delete_rrset',
    decide(target) {
      present(target);
      return null;
    },
  },
  putLabels: {
    command: null,
    decide(target, { labels, records }) {
      if (records !== undefined) throw new ApiError(422, 'invalid_input', "can't update records with this endpoint");
      const current = present(target);
      return { ...current, labels: labels === undefined ? current.labels : checkedLabels(labels) };
    },
  },
} satisfies Readonly<Record<string, WriteKind>>;

/** Actions on a set, by the last segments of their paths. */
export const rrsetActions: Readonly<Record<string, WriteKind>> = {
  set_records: {
    command: 'set_rrset_records',
    decide(target, body) {
      const records = recordsIn(body.records, at.action);
      return checked(target, { ...present(target), records }, records, at.action);
    },
  },
  add_records: {
    command: 'add_rrset_records',
    decide(target, { ttl = null, records }) {
      const added = recordsIn(records, at.action);
      const { current } = target;
      if (current === null) return checked(target, newRrset(target, checkedTtl(ttl), added), added, at.action);
      for (const [index, { value }] of added.entries()) {
        if (hasValue(current.records, value)) throw invalidInput(at.action.value(index), `duplicate value '${value}'`);
      }
      if (ttl !== null && ttl !== current.ttl) throw invalidInput('ttl', 'RRSet has differing record TTLs');
      return checked(target, { ...current, records: [...current.records, ...added] }, added, at.action);
    },
  },
  remove_records: {
    command: 'remove_rrset_records',
    decide(target, body) {
      const leaving = recordsIn(body.records, at.action);
      const current = present(target);
      for (const [index, { value }] of leaving.entries()) {
        if (!hasValue(current.records, value)) throw invalidInput(at.action.value(index), `value '${value}' not found`);
      }
      const records = current.records.filter(({ value }) => !hasValue(leaving, value));
      return records.length === 0 ? null : { ...current, records };
    },
  },
  change_ttl: {
    command: 'change_rrset_ttl',
    decide: (target, { ttl = null }) => ({ ...present(target), ttl: checkedTtl(ttl) }),
  },
};

/** Paths of fields in refusals. They differ between a creation and an action. */
interface FieldPaths {
  readonly records: string;
  value(index: number): string;
}

const at: Readonly<Record<'create' | 'action', FieldPaths>> = {
  create: { records: 'rrsets[0].records', value: (index) => `rrsets[0].records[${index}].value` },
  action: { records: 'records', value: (index) => `records[0].records[${index}].value` },
};

const hasValue = (records: readonly DnsRecord[], wanted: string): boolean =>
  records.some(({ value }) => value === wanted);

function present({ current }: Target): Rrset {
  if (current === null) throw notFound('rrset');
  return current;
}

const newRrset = ({ name, type }: Target, ttl: number | null, records: readonly DnsRecord[], labels = {}): Rrset => ({
  name,
  type,
  ttl,
  labels,
  protection: { change: false },
  records,
});

function checkedTtl(ttl: number | null): number | null {
  if (ttl === null || (ttl >= 60 && ttl <= 2_147_483_647)) return ttl;
  throw invalidInput('ttl', 'must be null or an integer between 60 and 2147483647');
}

function recordsIn(records: readonly { value: string; comment?: string }[], paths: FieldPaths): DnsRecord[] {
  const values = records.map(({ value }) => value);
  const twice = values.findIndex((value, index) => values.indexOf(value) !== index);
  if (twice >= 0) throw invalidInput(paths.value(twice), `duplicate value '${values[twice]}'`);
  return records.map(({ value, comment }) => ({ value, comment: comment ?? '' }));
}

const nameForm = /^(?:@|(?:\*|[a-z0-9_-]{1,63})(?:\.[a-z0-9_-]{1,63})*)$/;

/** Checks what applies to the result of every write. @param given the records of the request */
function checked(target: Target, next: Rrset, given: readonly DnsRecord[], paths: FieldPaths): Rrset {
  const { type } = next;
  if (target.current === null) checkIdentity(target);
  for (const [index, { value }] of given.entries()) {
    if (!isRecordValue(type, value)) throw invalidInput(paths.value(index), `invalid value '${value}'`);
  }
  if (type === 'CNAME' && next.records.length > 1) throw invalidInput(paths.records, 'CNAME takes exactly one record');
  return next;
}

function checkIdentity({ name, type, typesAtName }: Target): void {
  if (!nameForm.test(name)) throw invalidInput('rrsets[0].name', `invalid name '${name}'`);
  if (!rrsetTypes.includes(type)) throw invalidInput('rrsets[0].type', `invalid type '${type}'`);
  const others = typesAtName.filter((other) => other !== type);
  if (type === 'CNAME' ? others.length > 0 : others.includes('CNAME')) {
    throw invalidInput('rrsets[0].name', `CNAME cannot coexist with other types at '${name}'`);
  }
}
