const label = /^[a-z0-9_-]{1,63}$/;

/**
 * Describes what is wrong with the name of a set, relative to its zone. Returns null for a valid name.
 *
 * Only the canonical form is accepted, without normalization: lower case, no final dot, relative to the zone,
 * `@` for the apex, `*` only as the whole first label.
 */
export function nameProblem(name: string, zoneName: string): string | null {
  if (name === '@') return null;
  if (name === '') return 'must not be empty, the apex is @';
  if (name !== name.toLowerCase()) return 'must be lower case';
  if (name.endsWith('.')) return 'must be relative to the zone, without a final dot';
  if (name === zoneName || name.endsWith(`.${zoneName}`)) return 'must not end with the name of the zone';
  const labels = name.split('.');
  const rest = labels[0] === '*' ? labels.slice(1) : labels;
  if (!rest.every((part) => label.test(part))) return `invalid name '${name}'`;
  if (name.length + 1 + zoneName.length > 253) return 'is too long';
  return null;
}

/** The parent of a relative name: `a.b` -> `b` -> `@` -> null. */
export function parentName(name: string): string | null {
  if (name === '@') return null;
  const dot = name.indexOf('.');
  return dot < 0 ? '@' : name.slice(dot + 1);
}
