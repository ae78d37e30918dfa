import { randomInt } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from './client-programs.js';
import { runCommand } from './run-command.js';

/** The duration and the seed of a run. The same seed makes the same requests in the first phases. */
export interface FuzzSettings {
  readonly seconds: number;
  readonly seed: number;
}

/** `CORRAL_FUZZ_SECONDS` (default 10) and `CORRAL_FUZZ_SEED` (by default random). */
export function fuzzSettings(env: NodeJS.ProcessEnv = process.env): FuzzSettings {
  return {
    seconds: Number(env.CORRAL_FUZZ_SECONDS ?? 10),
    seed: Number(env.CORRAL_FUZZ_SEED ?? randomInt(2 ** 31)),
  };
}

export interface FuzzTarget {
  /** The address of the OpenAPI document. */
  readonly documentUrl: string;
  readonly baseUrl: string;
  /** A security scheme of the document and its kind: `bearer` or `api_key`. */
  readonly credential: { readonly scheme: string; readonly kind: 'bearer' | 'api_key'; readonly secret: string };
  /** The operations that are left out, with the reason. */
  readonly leftOut: Readonly<Record<string, string>>;
}

export interface FuzzOutcome {
  /** Whether every answer was one that the document allows. */
  readonly passed: boolean;
  readonly requests: number;
  readonly operations: number;
  /** The operations that never accepted the credential. Some have nothing to find, but a run of only these reached nothing. */
  readonly refusedOperations: number;
  /** The output of the fuzzer, with the requests that got unexpected answers. */
  readonly report: string;
}

/** The checks of each answer. A valid body may break a rule that a schema cannot express, so its refusal is not a fault. */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'unsupported_method',
  'allow_header_conformance',
  'ignored_auth',
];

/** The time for the last requests and the report after the time is up. */
const SLACK_MS = 120_000;

export async function fuzz(fuzzer: Client, target: FuzzTarget, { seconds, seed }: FuzzSettings): Promise<FuzzOutcome> {
  if (fuzzer.kind === 'missing') throw new Error(fuzzer.missing.how);
  const leftOut = Object.keys(target.leftOut).flatMap((id) => ['--exclude-operation-id', id]);
  const folder = await mkdtemp(join(tmpdir(), 'corral-fuzz-')); // it writes files where it runs
  const config = join(folder, 'schemathesis.toml');
  await writeFile(config, configOf(target), { mode: 0o600 });
  const { code, stdout, stderr } = await runCommand(
    [
      ...fuzzer.command,
      '--no-color',
      '--config-file',
      config,
      'run',
      target.documentUrl,
      '--url',
      target.baseUrl,
      '--checks',
      checks.join(','),
      ...leftOut,
      // One worker: threads of Python 3.11 that build syntax trees at the same time disturb each other.
      '--seed',
      String(seed),
      '--max-time',
      String(seconds),
      '--workers',
      '1',
      '--request-timeout',
      '30',
      '--suppress-health-check',
      'all',
      '--generation-database',
      'none',
      '--max-failures',
      '20',
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
