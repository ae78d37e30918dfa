import { type ClusterSchemas, createClient, isCorralError } from '@corral/client';
import { commandLineClient, deviceCodeGrant } from '@corral/contracts';
import type { Cli } from '../cli.js';
import { CliError } from '../exit-codes.js';
import type { StoredContext } from '../settings/config-file.js';
import { requestToken } from './request-token.js';
import { contextOfSession, thisDevice } from './session-context.js';

/** RFC 8628 section 3.5. */
const SLOW_DOWN_SECONDS = 5;

/** Lets a person allow this command in a browser of any machine (RFC 8628). */
export async function signInWithDevice(cli: Cli, url: string): Promise<StoredContext> {
  const { io, sending } = cli;
  const client = createClient({ baseUrl: url, credentials: 'none', ...sending, signal: io.signal });
  const { body } = await client.startDeviceSignIn({}, { body: { client_id: commandLineClient, ...thisDevice() } });
  const minutes = Math.round(body.expires_in / 60);
  cli.alert(`Open this page in a browser, on any machine:\n\n  ${body.verification_uri}\n`);
  cli.alert(`and type this code, within ${minutes} minutes:\n\n  ${body.user_code}\n`);
  return contextOfSession(cli, url, await poll(cli, url, body));
}

/** Asks until somebody has decided. An answer that does not arrive costs nothing: the next one says the same. */
async function poll(
  cli: Cli,
  url: string,
  { device_code: code, expires_in: seconds, interval }: ClusterSchemas['DeviceAuthorization'],
): Promise<ClusterSchemas['IssuedToken']> {
  const form = { grant_type: deviceCodeGrant, client_id: commandLineClient, device_code: code };
  let pause = interval;
  for (let waited = 0; waited <= seconds; waited += pause) {
    await cli.io.sleep(pause * 1_000, cli.io.signal);
    try {
      return await requestToken(cli, url, form);
    } catch (error) {
      if (nextAfter(error) === 'slower') pause += SLOW_DOWN_SECONDS;
    }
  }
  throw tooLate();
}

const tooLate = () => new CliError('timeout', 'Nobody allowed it in time. Try again.');

/** @throws CliError, or the error itself, when there is nothing to wait for */
function nextAfter(error: unknown): 'same' | 'slower' {
  if (!isCorralError(error)) throw error;
  const { status, body } = error;
  if (status === 0 || status === 429 || status >= 500) return 'slower';
  switch ((body as { error?: unknown } | null)?.error) {
    case 'authorization_pending':
      return 'same';
    case 'slow_down':
      return 'slower';
    case 'access_denied':
      throw new CliError('refused', 'The sign-in was not allowed in the browser.');
    case 'expired_token':
      throw tooLate();
    default:
      throw error;
  }
}
