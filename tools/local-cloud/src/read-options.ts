import type { LocalCloudOptions } from './start-local-cloud.js';

/** The options of the process, as variables with the prefix `LOCAL_CLOUD_`. */
const numbers = {
  apiPort: 'API_PORT',
  dnsPort: 'DNS_PORT',
  smtpPort: 'SMTP_PORT',
  adminPort: 'ADMIN_PORT',
  gardenPort: 'GARDEN_PORT',
  shootPort: 'SHOOT_PORT',
  actionMs: 'ACTION_MS',
  requestsPerHour: 'REQUESTS_PER_HOUR',
};
const gardenNumbers = {
  createMs: 'GARDEN_CREATE_MS',
  reconcileMs: 'GARDEN_RECONCILE_MS',
  hibernateMs: 'GARDEN_HIBERNATE_MS',
  wakeMs: 'GARDEN_WAKE_MS',
  deleteMs: 'GARDEN_DELETE_MS',
};

/** @throws Error if tokens or zones are missing, or a number is none */
export function readOptions(environment: Readonly<Record<string, string | undefined>>): LocalCloudOptions {
  const text = (name: string): string => environment[`LOCAL_CLOUD_${name}`]?.trim() ?? '';
  const list = (name: string): string[] =>
    text(name)
      .split(',')
      .flatMap((value) => value.trim() || []);
  const numbersIn = (names: Readonly<Record<string, string>>): Record<string, number> =>
    Object.fromEntries(
      Object.entries(names).flatMap(([option, name]) => {
        if (!/^\d*$/.test(text(name))) throw new Error(`LOCAL_CLOUD_${name} must be a number.`);
        return text(name) === '' ? [] : [[option, Number(text(name))]];
      }),
    );
  const [tokens, zones] = [list('TOKENS'), list('ZONES').map((name) => ({ name }))];
  if (tokens.length === 0 || zones.length === 0) {
    throw new Error('LOCAL_CLOUD_TOKENS and LOCAL_CLOUD_ZONES must be lists, separated by commas.');
  }
  return {
    tokens,
    zones,
    projectTokens: list('PROJECT_TOKENS'),
    garden: numbersIn(gardenNumbers),
    ...(text('DATA_DIR') === '' ? {} : { dataDir: text('DATA_DIR') }),
    ...numbersIn(numbers),
  };
}
