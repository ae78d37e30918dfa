import nock from 'nock';

/**
 * Activates nock for the tests of one file. It replaces the HTTP client of the whole process, which other test files
 * share.
 */
export function startIntercepting(): void {
  if (!nock.isActive()) nock.activate();
}

/** Removes nock and restores Node's HTTP client. */
export function stopIntercepting(): void {
  nock.cleanAll();
  nock.enableNetConnect();
  nock.restore();
}
