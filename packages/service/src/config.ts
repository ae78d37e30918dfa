import { type CleanedEnv, type CleanedEnvAccessors, customCleanEnv } from 'envalid';
import type { Variable, Variables } from './config-variables.js';

/** The values of declared variables, by the names of the variables. */
export type Config<S extends Variables> = Readonly<Omit<CleanedEnv<S>, keyof CleanedEnvAccessors>>;

export interface ConfigProblem {
  readonly variable: string;
  readonly problem: string;
  readonly expected: string;
}

/** Lists every wrong variable, so that one restart fixes them all. Contains no secret value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly ConfigProblem[]) {
    const lines = problems.map(({ variable, problem, expected }) => `  ${variable} ${problem}. Expected ${expected}.`);
    super(`The configuration has ${problems.length} error(s):\n${lines.join('\n')}`);
  }
}

/**
 * Reads and checks all declared variables. An empty variable counts as absent, because charts and compose files write absent
 * ones so.
 *
 * @param problemsOf what is wrong with variables together. A variable that is wrong by itself is undefined there
 * @throws ConfigError that lists every wrong variable
 */
export function readConfig<S extends Variables>(
  specs: S,
  env: NodeJS.ProcessEnv,
  problemsOf: (config: Config<S>) => readonly ConfigProblem[] = () => [],
): Config<S> {
  const given = Object.fromEntries(
    Object.entries(env).filter(([name, value]) => name in specs && value !== undefined && value.trim() !== ''),
  );
  const problems: ConfigProblem[] = [];
  const config = customCleanEnv(given, specs, (cleaned) => cleaned, {
    reporter: ({ errors }) => {
      for (const [variable, error] of Object.entries<Error | undefined>(errors)) {
        problems.push(problemOf(variable, specs[variable] as Variable<unknown>, given[variable], error));
      }
    },
  });
  problems.push(...problemsOf(config as Config<S>));
  if (problems.length > 0) throw new ConfigError(problems);
  return withPasswords(config) as Config<S>;
}

/**
 * Puts `DATABASE_PASSWORD` and `REDIS_PASSWORD` into their URLs, where special characters must be escaped.
 *
 * @param values variables by name. A URL that is absent or no URL stays as it is, and so does one with an empty password
 */
export function withPasswords<T extends object>(values: T): T {
  const completed = { ...values } as Record<string, unknown>;
  for (const store of ['DATABASE', 'REDIS']) {
    const { [`${store}_URL`]: url, [`${store}_PASSWORD`]: password } = completed;
    if (typeof url !== 'string' || typeof password !== 'string' || password === '' || !URL.canParse(url)) continue;
    const complete = new URL(url);
    complete.password = encodeURIComponent(password);
    completed[`${store}_URL`] = complete.toString();
  }
  return completed as T;
}

function problemOf(
  variable: string,
  spec: Variable<unknown>,
  value: string | undefined,
  error: Error | undefined,
): ConfigProblem {
  const example = spec.example === undefined ? '' : `, for example ${spec.example}`;
  const expected = `${spec.meta.expected}${example} (${(spec.desc ?? '').replace(/\.$/, '')})`;
  if (value === undefined) return { variable, problem: 'is missing', expected };
  const shown = spec.meta.hidden ? '' : ` (it is ${JSON.stringify(value.slice(0, 80).toWellFormed())})`;
  return { variable, problem: `${error?.message ?? 'is wrong'}${shown}`, expected };
}

export interface ConfigRow {
  readonly name: string;
  readonly type: string;
  readonly default: string;
  readonly unit: string;
  readonly description: string;
}

/** One row per variable, for documentation. */
export function describeConfig(specs: Variables): readonly ConfigRow[] {
  return Object.entries(specs).map(([name, spec]) => ({
    name,
    type: spec.meta.type,
    default: defaultText(spec),
    unit: spec.meta.unit ?? '',
    description: spec.example === undefined ? (spec.desc ?? '') : `${spec.desc} Example: \`${spec.example}\``,
  }));
}

function defaultText(spec: Variable<unknown>): string {
  if (!('default' in spec)) return 'required';
  if (spec.default === undefined) return spec.requiredWhen === undefined ? 'none' : 'none, sometimes required';
  if (Array.isArray(spec.default)) return spec.default.length === 0 ? 'empty' : `\`${spec.default.join(',')}\``;
  return `\`${String(spec.default)}\``;
}

/** The rows as a Markdown table. */
export function configTable(specs: Variables): string {
  const cells = describeConfig(specs).map((row) => [
    `\`${row.name}\``,
    row.type,
    row.default,
    row.unit,
    row.description.replaceAll('|', '\\|').replaceAll('\\\\|', '\\|'),
  ]);
  const rows = [['Variable', 'Type', 'Default', 'Unit', 'Meaning'], ['---', '---', '---', '---', '---'], ...cells];
  return `${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`;
}
