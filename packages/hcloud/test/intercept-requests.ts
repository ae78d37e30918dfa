import { afterAll, afterEach, beforeEach } from '@jest/globals';
import nock from 'nock';

// It replaces Node's HTTP client as soon as it is imported, and other tests of a file call real servers.
nock.restore();

/**
 * Answers requests of the tests of a block with nock.
 *
 * @param reachable a host to which real connections are allowed
 */
export function interceptRequests({ reachable }: { reachable?: string } = {}): void {
  beforeEach(() => {
    if (!nock.isActive()) nock.activate();
    nock.disableNetConnect();
    if (reachable !== undefined) nock.enableNetConnect(reachable);
  });
  afterEach(() => nock.cleanAll());
  afterAll(() => nock.restore());
}
