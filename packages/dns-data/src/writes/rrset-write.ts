import {
  assertNever,
  InvalidBody,
  parseAddRecords,
  parseChangeTtl,
  parseCreateRrset,
  parseRecordsBody,
  parseUpdateRrset,
  type RequestRecord,
  type TeamId,
} from '@corral/contracts';

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

/** Identity of a record set. */
export interface RrsetKey {
  readonly zoneId: number;
  readonly name: string;
  readonly type: string;
}

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

/** The owner of the label that a name ends in: a team, or a demo in the demo zone. */
export interface RrsetOwner {
  readonly kind: 'team' | 'demo';
  readonly id: string;
  /** The team whose audit log has the write; null for a demo created with a course code. */
  readonly teamId: TeamId | null;
}
