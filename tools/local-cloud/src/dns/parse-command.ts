import { ApiError, invalidInput } from '../hcloud/api-error.js';
import { isLabelKey, isLabelValue, type Labels } from '../labels.js';

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

/** Paths of fields in refusals. They differ between a creation and an action. */
export const valueField = (kind: CommandKind, index: number): string =>
  `${kind === 'create' ? 'rrsets[0]' : 'records[0]'}.records[${index}].value`;

/** Only Corral calls, whose bodies have the right types: they are taken at their word. */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Body = Readonly<Record<string, any>>;

/** @throws ApiError `json_error` unless the body is a JSON object */
export function parseJsonObject(body: unknown): Body {
  try {
    const parsed: unknown = JSON.parse(String(body));
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch {
    // Refused like any other body that is no object.
  }
  throw new ApiError(400, 'json_error', 'the body must be a JSON object');
}

/** @throws ApiError `invalid_input` */
export function parseCommand(kind: CommandKind, { ttl = null, labels, records }: Body): Command {
  switch (kind) {
    case 'create':
      return { kind, ttl: checkedTtl(ttl), labels: checkedLabels(labels ?? {}), records: recordsIn(kind, records) };
    case 'delete':
      return { kind };
    case 'set_records':
    case 'remove_records':
      return { kind, records: recordsIn(kind, records) };
    case 'add_records':
      return { kind, ttl: checkedTtl(ttl), records: recordsIn(kind, records) };
    case 'change_ttl':
      return { kind, ttl: checkedTtl(ttl) };
    case 'put_labels':
      if (records !== undefined) throw new ApiError(422, 'invalid_input', "can't update records with this endpoint");
      return { kind, labels: labels === undefined ? null : checkedLabels(labels) };
  }
}

function checkedTtl(ttl: number | null): number | null {
  if (ttl === null || (ttl >= 60 && ttl <= 2_147_483_647)) return ttl;
  throw invalidInput('ttl', 'must be null or an integer between 60 and 2147483647');
}

/** @throws ApiError `invalid_input` */
export function checkedLabels(labels: Labels): Labels {
  for (const [key, value] of Object.entries(labels)) {
    if (!isLabelKey(key) || !isLabelValue(value)) throw invalidInput('labels', `invalid label '${key}'`);
  }
  return labels;
}

function recordsIn(kind: CommandKind, records: readonly { value: string; comment?: string }[]): RecordEdit[] {
  const values = records.map(({ value }) => value);
  const twice = values.findIndex((value, index) => values.indexOf(value) !== index);
  if (twice >= 0) throw invalidInput(valueField(kind, twice), `duplicate value '${values[twice]}'`);
  return records.map(({ value, comment = '' }) => ({ value, comment: comment ?? '' }));
}
