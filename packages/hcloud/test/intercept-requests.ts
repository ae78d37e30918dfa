import { startIntercepting, stopIntercepting } from '@corral/testing/interception';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import nock from 'nock';

/**
 * Answers requests of a file's tests with nock. Only tests that use it may import this file: nock changes Node's HTTP
 * client as soon as it is imported.
 *
 * @param reachable a host to which real connections are allowed
 */
export function interceptRequests({ reachable }: { reachable?: string } = {}): void {
  beforeAll(startIntercepting);
  beforeEach(() => {
    nock.disableNetConnect();
    if (reachable !== undefined) nock.enableNetConnect(reachable);
  });
  afterEach(() => {
    nock.cleanAll();
    nock.enableNetConnect();
  });
  afterAll(stopIntercepting);
}
