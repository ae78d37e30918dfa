import canonicalize from 'canonicalize';
import { invalidField } from '../problem.js';

/**
 * What was read may be sent back as it is. A field that only the service writes and that reads differently is a change
 * that would be lost: it is refused by name.
 *
 * @param sent as parsed: it has no unknown fields
 * @param present the resource as the caller would read it now
 * @param writable the fields that the request may change
 * @throws Problem `immutable_field`
 */
export function refuseReadOnlyChanges(
  sent: Readonly<Record<string, unknown>>,
  present: object,
  writable: readonly string[],
): void {
  const now = present as Readonly<Record<string, unknown>>;
  for (const [field, value] of Object.entries(sent)) {
    if (writable.includes(field) || canonicalize(value) === canonicalize(now[field])) continue;
    throw invalidField('immutable_field', `/${field}`, 'is read-only. Omit it, or send its current value');
  }
}
