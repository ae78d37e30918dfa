import { ApiError, invalidInput } from '../hcloud/api-error.js';
import { isLabelKey, isLabelValue, type Labels } from '../labels.js';
import { isRrsetType } from './model.js';

type Body = Readonly<Record<string, unknown>>;

const TTL_MIN = 60;
const TTL_MAX = 2_147_483_647;
const RECORDS_MAX = 50;
const MISSING = 'missing data for required field';

/** Field paths in validation errors. They differ between a creation and an action. */
interface Place {
  readonly prefix: string;
  readonly records: string;
}
const ofCreate: Place = { prefix: 'rrsets[0].', records: 'rrsets[0].records' };
const ofAction: Place = { prefix: '', records: 'records[0].records' };

/** Field path of a record's value in the upstream's errors. */
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

/** Name and type of the set to create. */
export function parseIdentity(body: Body): { name: string; type: string } {
  const { name, type } = body;
  if (typeof name !== 'string') throw invalidInput('rrsets[0].name', name === undefined ? MISSING : 'must be a string');
  if (typeof type !== 'string') throw invalidInput('rrsets[0].type', type === undefined ? MISSING : 'must be a string');
  if (!isRrsetType(type)) throw invalidInput('rrsets[0].type', `invalid type '${type}'`);
  return { name, type };
}

/**
 * Reads the body of a write. Ignores unknown fields and coerces nothing.
 *
 * @throws ApiError `invalid_input` with the path of the first invalid field
 */
export function parseCommand(kind: CommandKind, body: Body): Command {
  switch (kind) {
    case 'create':
      return {
        kind,
        ttl: parseTtl(body.ttl ?? null, ofCreate),
        labels: body.labels === undefined ? {} : parseLabels(body.labels, `${ofCreate.prefix}labels`),
        records: parseRecords(body.records, ofCreate, Number.POSITIVE_INFINITY),
      };
    case 'delete':
      return { kind };
    case 'set_records':
    case 'remove_records':
      return { kind, records: parseRecords(body.records, ofAction) };
    case 'add_records':
      return { kind, records: parseRecords(body.records, ofAction), ttl: parseTtl(body.ttl ?? null, ofAction) };
    case 'change_ttl':
      if (body.ttl === undefined) throw invalidInput('ttl', MISSING);
      return { kind, ttl: parseTtl(body.ttl, ofAction) };
    case 'put_labels':
      if (body.records !== undefined) {
        throw new ApiError(422, 'invalid_input', "can't update records with this endpoint");
      }
      return { kind, labels: body.labels === undefined ? null : parseLabels(body.labels, 'labels') };
  }
}

function parseTtl(value: unknown, place: Place): number | null {
  if (value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= TTL_MIN && value <= TTL_MAX) return value;
  throw invalidInput(`${place.prefix}ttl`, `must be null or an integer between ${TTL_MIN} and ${TTL_MAX}`);
}

/** @throws ApiError `invalid_input` */
export function parseLabels(value: unknown, field: string): Labels {
  if (!isObject(value)) throw invalidInput(field, 'must be an object of strings');
  for (const [key, text] of Object.entries(value)) {
    if (!isLabelKey(key) || key.startsWith('hetzner.cloud/')) throw invalidInput(field, `invalid label key '${key}'`);
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

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export interface RecordEdit {
  readonly value: string;
  readonly comment: string;
}

/** The requested change, without the zone, name and type. */
export type Command =
  | { readonly kind: 'create'; ttl: number | null; labels: Labels; records: readonly RecordEdit[] }
  | { readonly kind: 'delete' }
  | { readonly kind: 'set_records'; records: readonly RecordEdit[] }
  | { readonly kind: 'add_records'; records: readonly RecordEdit[]; ttl: number | null }
  | { readonly kind: 'remove_records'; records: readonly RecordEdit[] }
  | { readonly kind: 'change_ttl'; ttl: number | null }
  | { readonly kind: 'put_labels'; labels: Labels | null };

export type CommandKind = Command['kind'];

/** The `command` of the action in the response; null for the write without an action. */
export const actionCommands: Readonly<Record<CommandKind, string | null>> = {
  create: 'create_rrset',
  delete: 'delete_rrset',
  set_records: 'set_rrset_records',
  add_records: 'add_rrset_records',
  remove_records: 'remove_rrset_records',
  change_ttl: 'change_rrset_ttl',
  put_labels: null,
};
