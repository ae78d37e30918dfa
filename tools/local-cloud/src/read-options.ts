import type { LocalCloudOptions } from './start-local-cloud.js';

type Environment = Readonly<Record<string, string | undefined>>;
/** Name without the prefix, and maximum. */
type Integer = readonly [variable: string, maximum: number];

const HOUR_MS = 3_600_000;
const PORT_MAX = 65_535;

const integers: Readonly<Record<string, Integer>> = {
  apiPort: ['API_PORT', PORT_MAX],
  dnsPort: ['DNS_PORT', PORT_MAX],
  smtpPort: ['SMTP_PORT', PORT_MAX],
  adminPort: ['ADMIN_PORT', PORT_MAX],
  gardenPort: ['GARDEN_PORT', PORT_MAX],
  shootPort: ['SHOOT_PORT', PORT_MAX],
  actionMs: ['ACTION_MS', HOUR_MS],
  requestsPerHour: ['REQUESTS_PER_HOUR', 1_000_000_000],
};

const gardenIntegers: Readonly<Record<string, Integer>> = {
  createMs: ['GARDEN_CREATE_MS', HOUR_MS],
  reconcileMs: ['GARDEN_RECONCILE_MS', HOUR_MS],
  hibernateMs: ['GARDEN_HIBERNATE_MS', HOUR_MS],
  wakeMs: ['GARDEN_WAKE_MS', HOUR_MS],
  deleteMs: ['GARDEN_DELETE_MS', HOUR_MS],
};

/**
 * Reads the options from the environment variables listed in README.md. Unset ones are absent.
 *
 * @throws Error that names every missing or invalid variable
 */
export function readOptions(environment: Environment): LocalCloudOptions {
  const problems: string[] = [];
  const text = (name: string): string => environment[`LOCAL_CLOUD_${name}`]?.trim() ?? '';
  const list = (name: string): string[] =>
    text(name)
      .split(',')
      .map((value) => value.trim())
      .filter((value) => value !== '');
  const required = (name: string): string[] => {
    const values = list(name);
    if (values.length === 0) problems.push(`LOCAL_CLOUD_${name} must be a list, separated by commas`);
    return values;
  };
  const numbers = (table: Readonly<Record<string, Integer>>): Record<string, number> =>
    Object.fromEntries(
      Object.entries(table).flatMap(([option, [name, maximum]]) => {
        const value = text(name);
        const isValid = /^\d*$/.test(value) && Number(value) <= maximum;
        if (!isValid) problems.push(`LOCAL_CLOUD_${name} must be an integer from 0 to ${maximum}`);
        return value === '' ? [] : [[option, Number(value)]];
      }),
    );
  const options: LocalCloudOptions = {
    tokens: required('TOKENS'),
    zones: required('ZONES').map((name) => ({ name })),
    projectTokens: list('PROJECT_TOKENS'),
    garden: numbers(gardenIntegers),
    ...(text('DATA_DIR') === '' ? {} : { dataDir: text('DATA_DIR') }),
    ...numbers(integers),
  };
  if (problems.length > 0) throw new Error(`The local cloud cannot start:\n${problems.join('\n')}`);
  return options;
}
