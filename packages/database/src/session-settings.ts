/**
 * Adds settings of the session to a database URL, besides those that it has. Every session is in UTC: Prisma's adapter sends and reads
 * times without their zone.
 *
 * @param settings names and values of Postgres' settings, without spaces
 * @throws TypeError when it is not a URL
 */
export function withSession(databaseUrl: string, settings: Readonly<Record<string, string>> = {}): string {
  const url = new URL(databaseUrl);
  const own = url.searchParams.get('options');
  const ours = Object.entries({ ...settings, TimeZone: 'UTC' }).map(([name, value]) => `-c ${name}=${value}`);
  url.searchParams.set('options', [...(own === null ? [] : [own]), ...ours].join(' '));
  return url.href;
}

/** Transactions that do not say otherwise change nothing. */
export const readOnly = { default_transaction_read_only: 'on' };
