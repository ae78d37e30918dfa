import { hostname } from 'node:os';
import { type ClusterSchemas, createClient } from '@corral/client';
import { clusterLimits } from '@corral/contracts';
import type { Cli } from '../cli.js';
import { CliError, usageError } from '../exit-codes.js';
import type { StoredContext } from '../settings/config-file.js';

/** The name of this machine, for the page on which a person decides. @returns nothing for a name without usable characters */
export function thisDevice(): { readonly device?: string } {
  const device = hostname()
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, clusterLimits.deviceCharacters);
  return device === '' ? {} : { device };
}

/** What is stored of a session that a person has allowed. */
export async function contextOfSession(
  cli: Cli,
  url: string,
  { access_token: session, expires_in: seconds }: ClusterSchemas['IssuedToken'],
): Promise<StoredContext> {
  const team = await teamOf(cli, url, session);
  const expiresAt = new Date(Date.now() + seconds * 1_000).toISOString();
  return { url, ...(team === null ? {} : { team }), session, expiresAt };
}

/** The team that was asked for, or the only one. */
async function teamOf({ options, io, sending, note }: Cli, url: string, session: string): Promise<string | null> {
  const client = createClient({ baseUrl: url, credentials: { session }, ...sending, signal: io.signal });
  const { body } = await client.getMe({}, {});
  const slugs = body.teams.map(({ slug }) => slug);
  const wanted = options.team ?? (io.env.CORRAL_TEAM || undefined);
  if (wanted !== undefined && !slugs.includes(wanted)) {
    throw wanted === ''
      ? usageError('--team needs a name.')
      : new CliError('notFound', `You are not a member of a team ${wanted}.`);
  }
  if (wanted === undefined && slugs.length > 1) note(`You are a member of ${slugs.join(', ')}: commands need --team.`);
  return wanted ?? (slugs.length === 1 ? (slugs[0] as string) : null);
}
