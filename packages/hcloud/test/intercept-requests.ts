import { afterAll, afterEach, beforeEach } from '@jest/globals';
import nock from 'nock';

/**
 * Answers requests of a file's tests with nock, which replaces Node's HTTP client as soon as it is imported.
 *
 * @param reachable a host to which real connections are allowed
 */
export function interceptRequests({ reachable }: { reachable?: string } = {}): void {
  beforeEach(() => {
    nock.disableNetConnect();
    if (reachable !== undefined) nock.enableNetConnect(reachable);
  });
  afterEach(() => nock.cleanAll());
  afterAll(() => nock.restore());
}
