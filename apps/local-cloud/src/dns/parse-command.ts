import { ApiError, invalidInput } from './api-error.js';
import type { Command, CommandKind, RecordEdit } from './command.js';
import { isLabelKey, isLabelValue } from './labels.js';
import { isRrsetType, type Labels } from './model.js';

type Body = Readonly<Record<string, unknown>>;

const TTL_MIN = 60;
const TTL_MAX = 2_147_483_647;
const RECORDS_MAX = 50;
const MISSING = 'missing data for required field';

/** Where a body's faults are reported: creation names its one set, the actions do not. */
interface Place {
  readonly prefix: string;
  readonly records: string;
}
const ofCreate: Place = { prefix: 'rrsets[0].', records: 'rrsets[0].records' };
const ofAction: Place = { prefix: '', records: 'records[0].records' };

/** Field path of a record's value, as the upstream writes it in errors. */
export const valueField = (kind: CommandKind, index: number): string =>
  `${(kind === 'create' ? ofCreate : ofAction).records}[${index}].value`;

/** @throws ApiError `json_error` unless the text is a JSON object */
export function parseJsonObject(text: string): Body {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new ApiError(400, 'json_error', 'the body is not valid JSON');
  }
  if (!isObject(parsed)) throw new ApiError(400, 'json_error', 'the body must be a JSON object');
  return parsed;
}

/** Name and type of the set that a creation is about. */
export function parseIdentity(body: Body): { name: string; type: string } {
  const { name, type } = body;
  if (typeof name !== 'string') throw invalidInput('rrsets[0].name', name === undefined ? MISSING : 'must be a string');
  if (typeof type !== 'string') throw invalidInput('rrsets[0].type', type === undefined ? MISSING : 'must be a string');
  if (!isRrsetType(type)) throw invalidInput('rrsets[0].type', `invalid type '${type}'`);
  return { name, type };
}

/**
 * Reads the body of a write. Unknown fields are ignored; nothing is coerced.
 *
 * @throws ApiError `invalid_input` with the path of the first wrong field
 */
export function parseCommand(kind: CommandKind, body: Body): Command {
  switch (kind) {
    case 'create':
      return {
        kind,
        ttl: parseTtl(body.ttl ?? null, ofCreate),
        labels: body.labels === undefined ? {} : parseLabels(body.labels, ofCreate),
        records: parseRecords(body.records, ofCreate, Number.POSITIVE_INFINITY),
      };
    case 'delete':
      return { kind };
    case 'set_records':
    case 'remove_records':
      return { kind, records: parseRecords(body.records, ofAction) };
    case 'add_records':
      return { kind, records: parseRecords(body.records, ofAction), ttl: parseTtl(body.ttl ?? null, ofAction) };
    case 'update_records':
      return { kind, records: parseCommentedRecords(body.records) };
    case 'change_ttl':
      if (body.ttl === undefined) throw invalidInput('ttl', MISSING);
      return { kind, ttl: parseTtl(body.ttl, ofAction) };
    case 'change_protection':
      if (typeof body.change !== 'boolean') {
        throw invalidInput('change', body.change === undefined ? MISSING : 'must be a boolean');
      }
      return { kind, change: body.change };
    case 'put_labels':
      if (body.records !== undefined) {
        throw new ApiError(422, 'invalid_input', "can't update records with this endpoint");
      }
      return { kind, labels: body.labels === undefined ? null : parseLabels(body.labels, ofAction) };
  }
}

function parseTtl(value: unknown, place: Place): number | null {
  if (value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= TTL_MIN && value <= TTL_MAX) return value;
  throw invalidInput(`${place.prefix}ttl`, `must be null or an integer between ${TTL_MIN} and ${TTL_MAX}`);
}

function parseLabels(value: unknown, place: Place): Labels {
  const field = `${place.prefix}labels`;
  if (!isObject(value)) throw invalidInput(field, 'must be an object of strings');
  for (const [key, text] of Object.entries(value)) {
    if (!isLabelKey(key)) throw invalidInput(field, `invalid label key '${key}'`);
    if (typeof text !== 'string' || !isLabelValue(text)) throw invalidInput(field, `invalid value of label '${key}'`);
  }
  return { ...(value as Record<string, string>) };
}

function parseRecords(value: unknown, place: Place, maximum = RECORDS_MAX): RecordEdit[] {
  if (value === undefined) throw invalidInput(`${place.prefix}records`, MISSING);
  if (!Array.isArray(value)) throw invalidInput(`${place.prefix}records`, 'must be an array');
  if (value.length === 0) throw invalidInput(`${place.prefix}records`, 'must not be empty');
  if (value.length > maximum) throw invalidInput(`${place.prefix}records`, `must hold at most ${maximum} records`);
  const records = value.map((item, index) => parseRecord(item, `${place.records}[${index}]`));
  const seen = new Set<string>();
  for (const [index, record] of records.entries()) {
    if (seen.has(record.value)) {
      throw invalidInput(`${place.records}[${index}].value`, `duplicate value '${record.value}'`);
    }
    seen.add(record.value);
  }
  return records;
}

function parseRecord(item: unknown, field: string): RecordEdit {
  if (!isObject(item)) throw invalidInput(field, 'must be an object');
  const { value, comment = null } = item;
  if (typeof value !== 'string')
    throw invalidInput(`${field}.value`, value === undefined ? MISSING : 'must be a string');
  if (comment !== null && typeof comment !== 'string') throw invalidInput(`${field}.comment`, 'must be a string');
  return { value, comment: comment ?? '' };
}

function parseCommentedRecords(value: unknown): RecordEdit[] {
  const records = parseRecords(value, ofAction);
  for (const [index, item] of (value as Body[]).entries()) {
    if (item.comment === undefined) throw invalidInput(`${ofAction.records}[${index}].comment`, MISSING);
  }
  return records;
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
