/**
 * The value of a specification at a JSON pointer below `/spec`.
 *
 * @returns undefined where the specification says nothing, so that the API chose the value
 */
export function sentAt(spec: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(2)
    .reduce<unknown>((value, member) => memberOf(value, member), spec);
}

function memberOf(value: unknown, member: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[member] : undefined;
}

/** A value for people rather than as JSON: `name: general, maximum: 3`. */
export const textOf = (value: unknown): string => render(value, textOf);

/** The same for a changed field. What is removed has no value, whatever was sent in its place. */
export const changedTextOf = (to: unknown, sent: unknown): string =>
  to === null || to === undefined ? textOf(to) : plannedTextOf(to, sent);

/** The same for a planned value. What is absent in `sent`, the value as it was sent, is marked as a default. */
export function plannedTextOf(value: unknown, sent: unknown): string {
  // A default is marked once, as a whole.
  if (sent === undefined) return `${textOf(value)} (default)`;
  return render(value, (each, member) => plannedTextOf(each, memberOf(sent, member)));
}

function render(value: unknown, partOf: (each: unknown, member: string) => string): string {
  if (value === null || value === undefined) return 'absent';
  if (typeof value !== 'object') return String(value);
  const parts = Object.entries(value).map(([name, each]) =>
    Array.isArray(value) ? partOf(each, name) : `${name}: ${partOf(each, name)}`,
  );
  return parts.length === 0 ? 'none' : parts.join(Array.isArray(value) ? '; ' : ', ');
}
