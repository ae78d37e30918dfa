import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeNeeding } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { missingOf, schemathesis } from '../../../support/clients/client-programs.js';
import { runCommand } from '../../../support/clients/run-command.js';
import { signIn } from '../../../support/clusters/client.js';
import { startClusterSystem } from '../../../support/clusters/start-cluster-system.js';
import { startSystem } from '../../../support/system/start-system.js';
import { type Ends, ownFolder, undo } from '../../../support/system/system-parts.js';

/*
 * Valid and invalid requests that are generated from the documents of the services. No answer may be a fault, and each
 * answer must be one that the document describes: its status, media type, headers and body.
 */

const fuzzer = await schemathesis();
const SECONDS = Number(process.env.CORRAL_FUZZ_SECONDS ?? 10);
const firstSeed = Number(process.env.CORRAL_FUZZ_SEED ?? randomInt(2 ** 31));
/** The time for the last requests and the report after the time is up. */
const SLACK_MS = 120_000;
/** A run with fewer requests says too little. */
const REQUESTS_MIN = 30;

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

/** Operations of the cluster API that are left out, with the reason. */
const leftOut: Readonly<Record<string, string>> = {
  signOut: 'it would end the session of the run',
  signOutEverywhere: 'it would end the session of the run',
  revokeSession: 'it would end the session of the run',
  startSignIn: 'it sends the browser to the identity provider, which these processes have none of',
  finishSignIn: 'only the identity provider knows what to send',
  deleteMember: 'members may remove themselves, and the session of the run would lose its team',
  streamTeamEvents: 'the answer is a stream without end',
};

describeNeeding(describe, missingOf(fuzzer), 'the fuzzer of OpenAPI documents', () => {
  const ends: Ends = [];
  let folder: string; // it writes files where it runs
  beforeAll(async () => {
    folder = await ownFolder(ends);
  });
  afterAll(() => undo(ends));

  /**
   * The fuzzer runs for a given time. If it does little or nothing in that time, it runs longer, with the next seed.
   *
   * @param credential a security scheme of the document, its kind and the secret
   */
  async function expectAsDocumented(base: string, url: string, [scheme, kind, secret]: [string, string, string]) {
    const config = join(folder, `${scheme}.toml`);
    const text = `[warnings]\ndisplay = ["missing_auth"]\n\n[auth.openapi.${scheme}]\n${kind} = ${JSON.stringify(secret)}\n`;
    await writeFile(config, text, { mode: 0o600 });
    const command = fuzzer.kind === 'found' ? fuzzer.command : [];
    process.stderr.write(`Fuzzing ${base}/openapi.json: CORRAL_FUZZ_SEED=${firstSeed}\n`);
    let made = 0;
    for (let seed = firstSeed; made <= REQUESTS_MIN; seed += 1) {
      const args = [
        ...['--no-color', '--config-file', config, 'run', `${base}/openapi.json`, '--url', url],
        ...['--checks', checks.join(','), ...Object.keys(leftOut).flatMap((id) => ['--exclude-operation-id', id])],
        ...['--seed', String(seed), '--max-time', String(SECONDS), '--request-timeout', '30', '--max-failures', '20'],
        // Threads of Python 3.11 that build syntax trees at the same time disturb each other.
        ...['--workers', '1', '--suppress-health-check', 'all', '--generation-database', 'none'],
      ];
      const options = { cwd: folder, timeoutMs: SECONDS * 1_000 + SLACK_MS };
      const env = { PYTHONIOENCODING: 'utf-8', COLUMNS: '160' };
      const { code, stdout, stderr } = await runCommand([...command, ...args], { ...options, env });
      if (code !== 0) throw new Error(`With CORRAL_FUZZ_SEED=${seed}:\n${stdout}\n${stderr}`);
      const numberIn = (pattern: RegExp): number => Number(pattern.exec(stdout)?.[1]?.replaceAll(',', '') ?? 0);
      // Some operations have nothing to find for the credential, but a run of only these reached nothing.
      const refused = numberIn(/Authentication failed: (\d+) operation/);
      expect(refused).toBeLessThanOrEqual(numberIn(/Tested: (\d+)/) / 2);
      made += numberIn(/(\d[\d,]*) generated/);
    }
  }

  it(
    'finds that the DNS API works as its document says',
    async () => {
      const system = await startSystem({ demos: true });
      ends.push(system.stop);

      const secret = system.teams[0]?.token as string;
      await expectAsDocumented(system.url.replace(/\/v1$/, ''), system.url, ['token', 'bearer', secret]);
    },
    SECONDS * 1_000 + 2 * SLACK_MS,
  );

  it(
    'finds that the cluster API works as its document says',
    async () => {
      const system = await startClusterSystem();
      ends.push(system.stop);
      const base = system.apis[0]?.base as string;
      const cookie = await signIn(base, 'admin@acme.test');

      await expectAsDocumented(base, base, ['session', 'api_key', cookie.replace(/^sessionid=/, '')]);
    },
    SECONDS * 1_000 + 2 * SLACK_MS,
  );
});
