import type { LocalCloudOptions } from './start-local-cloud.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the options from the variables that README.md lists.
 *
 * @throws Error that names every variable that is missing or wrong
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
  const integer = (name: string, maximum: number): number | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    if (/^\d+$/.test(value) && Number(value) <= maximum) return Number(value);
    problems.push(`${name} must be an integer from 0 to ${maximum}`);
    return undefined;
  };
  const options: LocalCloudOptions = {
    tokens: list('LOCAL_CLOUD_TOKENS'),
    zones: list('LOCAL_CLOUD_ZONES').map((name) => ({ name })),
    ...given('host', text('LOCAL_CLOUD_HOST')),
    ...given('apiPort', integer('LOCAL_CLOUD_API_PORT', 65_535)),
    ...given('dnsPort', integer('LOCAL_CLOUD_DNS_PORT', 65_535)),
    ...given('adminPort', integer('LOCAL_CLOUD_ADMIN_PORT', 65_535)),
    ...given('dataDir', text('LOCAL_CLOUD_DATA_DIR')),
    ...given('actionMs', integer('LOCAL_CLOUD_ACTION_MS', 3_600_000)),
    ...given('requestsPerHour', integer('LOCAL_CLOUD_REQUESTS_PER_HOUR', 1_000_000_000)),
  };
  if (problems.length > 0) throw new Error(`The local cloud cannot start:\n${problems.join('\n')}`);
  return options;
}

/** An option that is not given keeps its default: the key must then be absent. */
const given = <K extends string, V>(key: K, value: V | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { [k in K]?: V };
