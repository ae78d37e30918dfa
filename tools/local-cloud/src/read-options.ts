import type { LocalCloudOptions } from './start-local-cloud.js';

const HOUR_MS = 3_600_000;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the options from the environment variables listed in README.md.
 *
 * @throws Error that names every missing or invalid variable
 */
export function readOptions(environment: Environment): LocalCloudOptions {
  const problems: string[] = [];
  const text = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const list = (name: string): string[] => {
    const values = (text(name) ?? '').split(',').map((value) => value.trim());
    const filled = values.filter((value) => value !== '');
    if (filled.length === 0) problems.push(`${name} must be a list, separated by commas, of at least one entry`);
    return filled;
  };
  const optionalList = (name: string): string[] | undefined => (text(name) === undefined ? undefined : list(name));
  const integer = (name: string, maximum: number): number | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (/^\d+$/.test(value) && Number(value) <= maximum) return Number(value);
    problems.push(`${name} must be an integer from 0 to ${maximum}`);
    return undefined;
  };
  const garden = {
    ...given('createMs', integer('LOCAL_CLOUD_GARDEN_CREATE_MS', HOUR_MS)),
    ...given('reconcileMs', integer('LOCAL_CLOUD_GARDEN_RECONCILE_MS', HOUR_MS)),
    ...given('hibernateMs', integer('LOCAL_CLOUD_GARDEN_HIBERNATE_MS', HOUR_MS)),
    ...given('wakeMs', integer('LOCAL_CLOUD_GARDEN_WAKE_MS', HOUR_MS)),
    ...given('deleteMs', integer('LOCAL_CLOUD_GARDEN_DELETE_MS', HOUR_MS)),
    ...given('joinMs', integer('LOCAL_CLOUD_GARDEN_JOIN_MS', HOUR_MS)),
    ...given('historyLength', integer('LOCAL_CLOUD_GARDEN_HISTORY', 1_000_000)),
    ...given('kubeconfigSecondsMax', integer('LOCAL_CLOUD_KUBECONFIG_SECONDS_MAX', 2 ** 32 - 1)),
  };
  const options: LocalCloudOptions = {
    tokens: list('LOCAL_CLOUD_TOKENS'),
    zones: list('LOCAL_CLOUD_ZONES').map((name) => ({ name })),
    ...given('host', text('LOCAL_CLOUD_HOST')),
    ...given('apiPort', integer('LOCAL_CLOUD_API_PORT', 65_535)),
    ...given('dnsPort', integer('LOCAL_CLOUD_DNS_PORT', 65_535)),
    ...given('smtpPort', integer('LOCAL_CLOUD_SMTP_PORT', 65_535)),
    ...given('adminPort', integer('LOCAL_CLOUD_ADMIN_PORT', 65_535)),
    ...given('gardenPort', integer('LOCAL_CLOUD_GARDEN_PORT', 65_535)),
    ...given('shootPort', integer('LOCAL_CLOUD_SHOOT_PORT', 65_535)),
    ...given('projectTokens', optionalList('LOCAL_CLOUD_PROJECT_TOKENS')),
    ...given('readOnlyTokens', optionalList('LOCAL_CLOUD_READ_ONLY_TOKENS')),
    ...(Object.keys(garden).length === 0 ? {} : { garden }),
    ...given('dataDir', text('LOCAL_CLOUD_DATA_DIR')),
    ...given('actionMs', integer('LOCAL_CLOUD_ACTION_MS', HOUR_MS)),
    ...given('requestsPerHour', integer('LOCAL_CLOUD_REQUESTS_PER_HOUR', 1_000_000_000)),
  };
  if (problems.length > 0) throw new Error(`The local cloud cannot start:\n${problems.join('\n')}`);
  return options;
}

/** Omits the key of an unset option so that its default applies. */
const given = <K extends string, V>(key: K, value: V | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { [k in K]?: V };
