import { createHash, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { createClient } from '@corral/client';
import { clusterLimits } from '@corral/contracts';
import type { Cli } from '../cli.js';
import { CliError, usageError } from '../exit-codes.js';
import type { StoredContext } from '../settings/config-file.js';
import { listenForCode } from './loopback.js';
import { requestToken } from './request-token.js';

const CLIENT_ID = 'corral-cli';

const secret = () => randomBytes(32).toString('base64url');

/** Lets a person allow this command in their browser: a session of its own (RFC 8252, RFC 7636). */
export async function signInWithBrowser(
  cli: Cli,
  url: string,
  { browser }: { readonly browser: boolean },
): Promise<StoredContext> {
  const { io } = cli;
  const [state, verifier] = [secret(), secret()];
  const loopback = await listenForCode(state, io.signal);
  try {
    const page = pageAddress(url, { state, verifier, redirectUri: loopback.redirectUri });
    cli.note(`Open this page to sign in${browser ? ', if your browser does not' : ''}:\n\n  ${page}\n`);
    // The address is shown as well, for machines without a browser.
    if (browser) await io.openBrowser(page).catch(() => undefined);
    const { access_token, expires_in } = await requestToken(cli, url, {
      grant_type: 'authorization_code',
      client_id: CLIENT_ID,
      code: await loopback.code,
      redirect_uri: loopback.redirectUri,
      code_verifier: verifier,
    });
    const team = await teamOf(cli, url, access_token);
    return {
      url,
      ...(team === null ? {} : { team }),
      session: access_token,
      expiresAt: new Date(Date.now() + expires_in * 1_000).toISOString(),
    };
  } finally {
    loopback.close();
  }
}

interface Attempt {
  readonly state: string;
  readonly verifier: string;
  readonly redirectUri: string;
}

function pageAddress(url: string, { state, verifier, redirectUri }: Attempt): string {
  const device = hostname()
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, clusterLimits.deviceCharacters);
  const query = new URLSearchParams({
    client_id: CLIENT_ID,
    response_type: 'code',
    redirect_uri: redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state,
    ...(device === '' ? {} : { device }),
  });
  return `${url}/auth/authorize/?${query}`;
}

/** The team that was asked for, or the only one. */
async function teamOf({ options, io, userAgent, note }: Cli, url: string, session: string): Promise<string | null> {
  const client = createClient({ baseUrl: url, credentials: { session }, userAgent, signal: io.signal });
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
