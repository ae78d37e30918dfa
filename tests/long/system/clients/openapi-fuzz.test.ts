import { describeNeeding } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { missingOf, schemathesis } from '../../../support/clients/client-programs.js';
import { type FuzzTarget, fuzz, fuzzSettings } from '../../../support/clients/schemathesis.js';
import { signIn } from '../../../support/clusters/client.js';
import { startClusterSystem } from '../../../support/clusters/start-cluster-system.js';
import { startSystem, type Team } from '../../../support/system/start-system.js';

/*
 * Valid and invalid requests that are generated from the documents of the services. No answer may be a fault, and each
 * answer must be one that the document describes: its status, media type, headers and body.
 */

const fuzzer = await schemathesis();
const settings = fuzzSettings();
const TIMEOUT_MS = settings.seconds * 1_000 + 240_000;
/** A run with fewer requests says too little. */
const REQUESTS_MIN = 30;

describeNeeding(describe, missingOf(fuzzer), 'the fuzzer of OpenAPI documents', () => {
  let stop: () => Promise<void> = async () => undefined;
  afterEach(() => stop(), 120_000);

  /** The fuzzer runs for a given time. If it does little or nothing in that time, it runs longer, with the next seed. */
  async function expectAsDocumented(target: FuzzTarget): Promise<void> {
    process.stderr.write(`Fuzzing ${target.documentUrl}: CORRAL_FUZZ_SEED=${settings.seed}\n`);
    let made = 0;
    for (let { seed } = settings; made <= REQUESTS_MIN; seed += 1) {
      const outcome = await fuzz(fuzzer, target, { ...settings, seed });
      const { passed, requests, operations, refusedOperations, report } = outcome;
      if (!passed) throw new Error(`With CORRAL_FUZZ_SEED=${seed}:\n${report}`);
      expect(refusedOperations).toBeLessThanOrEqual(operations / 2);
      made += requests;
    }
  }

  it(
    'finds that the DNS API works as its document says',
    async () => {
      const system = await startSystem({ demos: true });
      stop = () => system.stop();

      await expectAsDocumented({
        documentUrl: system.url.replace(/\/v1$/, '/openapi.json'),
        baseUrl: system.url,
        credential: { scheme: 'token', kind: 'bearer', secret: (system.teams[0] as Team).token },
        leftOut: {},
      });
    },
    TIMEOUT_MS,
  );

  it(
    'finds that the cluster API works as its document says',
    async () => {
      const system = await startClusterSystem();
      stop = () => system.stop();
      const base = system.apis[0]?.base as string;
      const cookie = await signIn(base, 'admin@acme.test');

      await expectAsDocumented({
        documentUrl: `${base}/openapi.json`,
        baseUrl: base,
        credential: { scheme: 'session', kind: 'api_key', secret: cookie.replace(/^sessionid=/, '') },
        leftOut: {
          signOut: 'it would end the session of the run',
          signOutEverywhere: 'it would end the session of the run',
          revokeSession: 'it would end the session of the run',
          startSignIn: 'it sends the browser to the identity provider, which these processes have none of',
          finishSignIn: 'only the identity provider knows what to send',
          deleteMember: 'members may remove themselves, and the session of the run would lose its team',
          streamTeamEvents: 'the answer is a stream without end',
        },
      });
    },
    TIMEOUT_MS,
  );
});
