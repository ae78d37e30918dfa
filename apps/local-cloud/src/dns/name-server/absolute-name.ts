/**
 * Completes a host name from a record value: without the final dot it is relative to the zone, `@` is the zone itself.
 *
 * @returns the full name without the final dot; `.` for the root
 */
export function absoluteName(name: string, zoneName: string): string {
  if (name === '@') return zoneName;
  if (name === '.') return '.';
  return name.endsWith('.') ? name.slice(0, -1) : `${name}.${zoneName}`;
}
