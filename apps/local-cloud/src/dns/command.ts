import type { Labels } from './model.js';

export interface RecordEdit {
  readonly value: string;
  readonly comment: string;
}

/** What a write asks for, apart from the zone, name and type it is about. */
export type Command =
  | { readonly kind: 'create'; ttl: number | null; labels: Labels; records: readonly RecordEdit[] }
  | { readonly kind: 'delete' }
  | { readonly kind: 'set_records'; records: readonly RecordEdit[] }
  | { readonly kind: 'add_records'; records: readonly RecordEdit[]; ttl: number | null }
  | { readonly kind: 'remove_records'; records: readonly RecordEdit[] }
  | { readonly kind: 'update_records'; records: readonly RecordEdit[] }
  | { readonly kind: 'change_ttl'; ttl: number | null }
  | { readonly kind: 'change_protection'; change: boolean }
  | { readonly kind: 'put_labels'; labels: Labels | null };

export type CommandKind = Command['kind'];

/** The `command` of the action that a write answers; null for the one write that has no action. */
export const actionCommands: Readonly<Record<CommandKind, string | null>> = {
  create: 'create_rrset',
  delete: 'delete_rrset',
  set_records: 'set_rrset_records',
  add_records: 'add_rrset_records',
  remove_records: 'remove_rrset_records',
  update_records: 'update_rrset_records',
  change_ttl: 'change_rrset_ttl',
  change_protection: 'change_rrset_protection',
  put_labels: null,
};
