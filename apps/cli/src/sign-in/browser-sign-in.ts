import { createHash, randomBytes } from 'node:crypto';
import { platform } from 'node:os';
import { commandLineClient } from '@corral/contracts';
import type { Cli } from '../cli.js';
import type { StoredContext } from '../settings/config-file.js';
import { listenForCode } from './loopback.js';
import { requestToken } from './request-token.js';
import { contextOfSession, thisDevice } from './session-context.js';

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
    cli.alert(`Open this page to sign in${browser ? ', if your browser does not' : ''}:\n\n  ${page}\n`);
    if (!(browser && (await opens(cli, page)))) {
      cli.note('Is there no browser on this machine? Stop this, and use `corral login --device`.');
    }
    const token = await requestToken(cli, url, {
      grant_type: 'authorization_code',
      client_id: commandLineClient,
      code: await loopback.code,
      redirect_uri: loopback.redirectUri,
      code_verifier: verifier,
    });
    return await contextOfSession(cli, url, token);
  } finally {
    loopback.close();
  }
}

async function opens({ io }: Cli, page: string): Promise<boolean> {
  if (!hasScreen(io.env)) return false;
  try {
    await io.openBrowser(page);
    return true;
  } catch {
    return false;
  }
}

/** Whether a browser can be seen here. The program that opens one does not tell when it finds none. */
export const hasScreen = (env: NodeJS.ProcessEnv, system = platform()): boolean =>
  system !== 'linux' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.BROWSER || env.WSL_DISTRO_NAME);

interface Attempt {
  readonly state: string;
  readonly verifier: string;
  readonly redirectUri: string;
}

function pageAddress(url: string, { state, verifier, redirectUri }: Attempt): string {
  const query = new URLSearchParams({
    client_id: commandLineClient,
    response_type: 'code',
    redirect_uri: redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state,
    ...thisDevice(),
  });
  return `${url}/auth/authorize/?${query}`;
}
