import { createClient, isCorralError } from '@corral/client';
import { Command } from 'commander';
import type { Cli, WithCli } from '../cli.js';
import { connectClusters } from '../clusters/team-api.js';
import { usageError } from '../exit-codes.js';
import { renderFacts } from '../output/table.js';
import type { StoredContext } from '../settings/config-file.js';
import { requireInput } from '../settings/options.js';
import { addressOf, chosenContext } from '../settings/settings.js';
import { signInWithBrowser } from './browser-sign-in.js';
import { signInWithDevice } from './device-sign-in.js';
import { signInByExchange } from './exchange.js';
import { signInWithDnsToken, signInWithToken } from './token-sign-in.js';

export function signInCommands(withCli: WithCli): Command[] {
  const login = new Command('login')
    .description('sign in, and save the sign-in as a context')
    .option('--url <address>', 'address of the cluster API (default: CORRAL_URL, else that of the context)')
    .option('--dns-url <address>', 'address of the DNS API, with /v1; the token is then a DNS token')
    .option('--token <->', '`-` reads the token of a service account, or a DNS token, from standard input')
    .option(
      '--exchange',
      'exchange a token of a trusted issuer, such as that of a pipeline, for one of a service account',
    )
    .option('--account <name>', 'with --exchange: the service account')
    .option(
      '--subject-token-file <file>',
      'with --exchange: the file with the token; it is read again for each renewal',
    )
    .option('--no-browser', 'print the address to open instead of opening it')
    .option('--device', 'for a machine without a browser: print a code to type in a browser elsewhere')
    .action(withCli(signIn));
  const logout = new Command('logout')
    .description('end the session of the context, and delete its tokens')
    .action(withCli(signOut));
  const whoami = new Command('whoami').description('show who is signed in, and in which teams').action(withCli(showMe));
  return [login, logout, whoami];
}

interface SignInOptions {
  readonly url?: string;
  readonly dnsUrl?: string;
  readonly token?: string;
  readonly exchange?: boolean;
  readonly account?: string;
  readonly subjectTokenFile?: string;
  readonly browser: boolean;
  readonly device?: boolean;
}

async function signIn(cli: Cli, options: SignInOptions): Promise<void> {
  const { token, dnsUrl } = options;
  requireInput(token);
  const found = await knownContext(cli);
  if (dnsUrl !== undefined) {
    if (token === undefined) throw usageError('The DNS API takes tokens only: add --token -.');
    const url = addressOf(dnsUrl, '--dns-url', cli.io.env) ?? '';
    return save(cli, url, { ...found?.stored, ...(await signInWithDnsToken(cli, url)) });
  }
  const url = addressOf(options.url ?? (cli.io.env.CORRAL_URL || found?.stored.url), '--url', cli.io.env);
  if (url === null) throw usageError('Say where: --url https://clusters.example.org.');
  const signedIn = await signedInAt(cli, url, options);
  // What was stored for another address is of no use here.
  const kept = found?.stored.url === url || found?.stored.url === undefined ? found?.stored : {};
  await save(cli, url, { ...withoutCredentials(kept ?? {}), ...signedIn });
}

function signedInAt(cli: Cli, url: string, { token, device, ...options }: SignInOptions) {
  const { exchange, account, subjectTokenFile, browser } = options;
  if (device && (exchange || token !== undefined))
    throw usageError('Use --device, --exchange or --token, not several.');
  if (exchange) {
    if (token !== undefined) throw usageError('Use --exchange or --token, not both.');
    if (account === undefined || subjectTokenFile === undefined) {
      throw usageError('--exchange needs --account and --subject-token-file.');
    }
    return signInByExchange(cli, url, { account, subjectTokenFile });
  }
  if (token === '-') return signInWithToken(cli, url);
  return device ? signInWithDevice(cli, url) : signInWithBrowser(cli, url, { browser });
}

/** A context without credentials of the cluster API. */
function withoutCredentials({
  session: _session,
  token: _token,
  account: _account,
  subjectTokenFile: _file,
  expiresAt: _expiresAt,
  ...rest
}: StoredContext): StoredContext {
  return rest;
}

/** The context that is named, even if it does not exist yet, or the current one. */
async function knownContext(cli: Cli): Promise<{ name: string; stored: StoredContext } | null> {
  const given = await cli.given();
  const name = given.context ?? (cli.io.env.CORRAL_CONTEXT || undefined);
  if (name !== undefined && !Object.hasOwn(given.config.contexts, name)) return { name, stored: {} };
  return chosenContext(given);
}

async function save(cli: Cli, url: string, stored: StoredContext): Promise<void> {
  const name = (await nameFor(cli, url)) ?? new URL(url).host;
  await cli.changeConfig((config) => ({
    currentContext: name,
    contexts: { ...config.contexts, [name]: stored },
  }));
  const team = stored.team === undefined ? '' : `, team ${stored.team}`;
  cli.result(
    { context: name, url, team: stored.team ?? null, expiresAt: stored.expiresAt ?? null },
    `Signed in to ${url}${team}. The context is ${name}${stored.expiresAt ? `, until ${stored.expiresAt}` : ''}.\n`,
  );
}

/** The context that was named, or the current one if it leads there; null for a new one. */
async function nameFor(cli: Cli, url: string): Promise<string | null> {
  const found = await knownContext(cli);
  if (found === null) return null;
  const isNamed = cli.options.context !== undefined || Boolean(cli.io.env.CORRAL_CONTEXT);
  return isNamed || found.stored.url === url || found.stored.dnsUrl === url ? found.name : null;
}

async function signOut(cli: Cli): Promise<void> {
  const found = chosenContext(await cli.given());
  if (found === null) throw usageError('There is no context. Nothing is signed in.');
  const { name, stored } = found;
  if (stored.url !== undefined && stored.session !== undefined) {
    const client = createClient({
      baseUrl: stored.url,
      credentials: { session: stored.session },
      ...cli.sending,
      signal: cli.io.signal,
    });
    await client.signOut().catch((error: unknown) => {
      // It has ended already.
      if (!isCorralError(error) || error.status !== 401) throw error;
    });
  }
  await cli.changeConfig(({ contexts, ...config }) => {
    const { dnsToken: _, ...rest } = withoutCredentials(contexts[name] ?? {});
    return { ...config, contexts: { ...contexts, [name]: rest } };
  });
  cli.note(`The tokens of the context ${name} are deleted.`);
}

async function showMe(cli: Cli): Promise<void> {
  const { client, url } = await connectClusters(cli);
  const { body } = await client.getMe({}, { signal: cli.io.signal });
  const { email, teams } = body;
  cli.result(body, () =>
    renderFacts([
      ['User', email],
      ['At', url],
      ...teams.map(({ slug, role }) => ['Team', `${slug} (${role})`] as const),
    ]),
  );
}
