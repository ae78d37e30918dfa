import nock from 'nock';

/**
 * Lets nock stand between this process and the network, for the tests of one file. It replaces Node's own HTTP client for
 * all of the process, and other test files run in it.
 */
export function startIntercepting(): void {
  if (!nock.isActive()) nock.activate();
}

/** Leaves nothing of nock behind: Node's HTTP client is what it was. */
export function stopIntercepting(): void {
  nock.cleanAll();
  nock.enableNetConnect();
  nock.restore();
}
