import { randomInt } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from './clients.js';
import { runCommand } from './run-command.js';

/** A run's share of time, and its seed: the same seed makes the same requests of the first phases. */
export interface FuzzSettings {
  readonly seconds: number;
  readonly seed: number;
}

/** `CORRAL_FUZZ_SECONDS` (default 10) and `CORRAL_FUZZ_SEED` (default: drawn). */
export function fuzzSettings(env: NodeJS.ProcessEnv = process.env): FuzzSettings {
  return {
    seconds: Number(env.CORRAL_FUZZ_SECONDS ?? 10),
    seed: Number(env.CORRAL_FUZZ_SEED ?? randomInt(2 ** 31)),
  };
}

export interface FuzzTarget {
  /** Of the OpenAPI document. */
  readonly documentUrl: string;
  readonly baseUrl: string;
  /** A security scheme of the document, and what it takes: `bearer` or `api_key`. */
  readonly credential: { readonly scheme: string; readonly kind: 'bearer' | 'api_key'; readonly secret: string };
  /** Operations that are left out, with the reason. */
  readonly leftOut: Readonly<Record<string, string>>;
}

export interface FuzzOutcome {
  /** Whether every answer was one that the document promises. */
  readonly passed: boolean;
  readonly requests: number;
  readonly operations: number;
  /** Operations that the credential never got into. Some have nothing to be got at; a run of such alone reached nothing. */
  readonly refusedOperations: number;
  /** What the fuzzer says, with the requests that were answered otherwise. */
  readonly report: string;
}

/** What each answer is held against. What a schema cannot say, a valid body may be refused for; so that is no check. */
const checks = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance', 'response_headers_conformance'],
  ...['response_schema_conformance', 'unsupported_method', 'allow_header_conformance', 'ignored_auth'],
];

/** For what comes after the time is up: the last requests and the report. */
const SLACK_MS = 120_000;

export async function fuzz(fuzzer: Client, target: FuzzTarget, { seconds, seed }: FuzzSettings): Promise<FuzzOutcome> {
  if (fuzzer.kind === 'missing') throw new Error(fuzzer.missing.how);
  const leftOut = Object.keys(target.leftOut).flatMap((id) => ['--exclude-operation-id', id]);
  const folder = await mkdtemp(join(tmpdir(), 'corral-fuzz-')); // it keeps notes where it runs
  const config = join(folder, 'schemathesis.toml');
  await writeFile(config, configOf(target), { mode: 0o600 });
  const { code, stdout, stderr } = await runCommand(
    [
      ...[...fuzzer.command, '--no-color', '--config-file', config, 'run', target.documentUrl],
      ...['--url', target.baseUrl, '--checks', checks.join(','), ...leftOut],
      // One worker: threads of Python 3.11 that make syntax trees at the same time trip over each other.
      ...['--seed', String(seed), '--max-time', String(seconds), '--workers', '1'],
      ...['--request-timeout', '30', '--suppress-health-check', 'all', '--generation-database', 'none'],
      ...['--max-failures', '20'],
    ],
    { cwd: folder, timeoutMs: seconds * 1_000 + SLACK_MS, env: { PYTHONIOENCODING: 'utf-8', COLUMNS: '160' } },
  );
  await rm(folder, { recursive: true, force: true });
  return {
    passed: code === 0,
    requests: numberIn(stdout, /(\d[\d,]*) generated/),
    operations: numberIn(stdout, /Tested: (\d+)/),
    refusedOperations: numberIn(stdout, /Authentication failed: (\d+) operation/),
    report: `${stdout}\n${stderr}`.trim(),
  };
}

const numberIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]?.replaceAll(',', '') ?? 0);

const configOf = ({ credential: { scheme, kind, secret } }: FuzzTarget): string =>
  `[warnings]
display = ["missing_auth"]

[auth.openapi.${scheme}]
${kind} = ${JSON.stringify(secret)}
`;
