import { UnusableState } from './journal.js';
import { startLocalCloud } from './start-local-cloud.js';

/** `EX_CONFIG` of sysexits.h: a restart without a change is pointless. */
const EXIT_CONFIG = 78;

const text = (name: string): string => process.env[`LOCAL_CLOUD_${name}`]?.trim() ?? '';

const list = (name: string): string[] =>
  text(name)
    .split(',')
    .flatMap((value) => value.trim() || []);

/** The options whose variables are set. @throws Error if one is no number */
const numbers = <K extends string>(variables: Readonly<Record<K, string>>): Partial<Record<K, number>> =>
  Object.fromEntries(
    Object.entries<string>(variables).flatMap(([option, name]) => {
      if (!/^\d*$/.test(text(name))) throw new Error(`LOCAL_CLOUD_${name} must be a number.`);
      return text(name) === '' ? [] : [[option, Number(text(name))]];
    }),
  ) as Partial<Record<K, number>>;

const [tokens, zones] = [list('TOKENS'), list('ZONES').map((name) => ({ name }))];
if (tokens.length === 0 || zones.length === 0) {
  throw new Error('LOCAL_CLOUD_TOKENS and LOCAL_CLOUD_ZONES must be lists, separated by commas.');
}
const cloud = await startLocalCloud({
  tokens,
  zones,
  projectTokens: list('PROJECT_TOKENS'),
  ...(text('DATA_DIR') === '' ? {} : { dataDir: text('DATA_DIR') }),
  ...numbers({
    apiPort: 'API_PORT',
    dnsPort: 'DNS_PORT',
    smtpPort: 'SMTP_PORT',
    adminPort: 'ADMIN_PORT',
    gardenPort: 'GARDEN_PORT',
    shootPort: 'SHOOT_PORT',
    actionMs: 'ACTION_MS',
    requestsPerHour: 'REQUESTS_PER_HOUR',
  }),
  garden: numbers({
    createMs: 'GARDEN_CREATE_MS',
    reconcileMs: 'GARDEN_RECONCILE_MS',
    deleteMs: 'GARDEN_DELETE_MS',
  }),
}).catch((error: unknown) => {
  if (!(error instanceof UnusableState)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(EXIT_CONFIG);
});

// Registered before the ready line is printed: its reader may stop the process immediately.
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    cloud.close().then(() => process.exit(0));
  });
}

const { apiUrl, adminUrl, dnsPort, smtpPort } = cloud;
process.stdout.write(`${JSON.stringify({ event: 'ready', apiUrl, adminUrl, dnsPort, smtpPort })}\n`);
