/**
 * Sets a gauge that is read from the database. Without the database there is no value: a missing value is better than a stale
 * one, and other metrics stay available.
 */
export async function setOrForget(
  gauge: { set(value: number): void; remove(): void },
  read: () => Promise<number | null>,
): Promise<void> {
  gauge.remove(); // `reset` would leave a 0
  const value = await read().catch(() => null);
  if (value !== null) gauge.set(value);
}
