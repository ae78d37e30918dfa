/** The upstream stated a set in a shape that the mirror cannot hold. It concerns this set only. */
export class UnusableRrset extends Error {
  override readonly name = 'UnusableRrset';
}

/** @throws UnusableRrset when the body has no records: the mirror counts them, and rules compare them */
export function assertUsable(body: string): void {
  const { records } = JSON.parse(body) as { records?: unknown };
  const isUsable =
    Array.isArray(records) && records.length > 0 && records.every((record) => typeof record?.value === 'string');
  if (!isUsable) throw new UnusableRrset('The upstream stated a record set without usable records.');
}
