import { classifyFailure, type Failure, recordSetApi, type SetApi } from '@corral/record-changes';
import { type DnsClient, dnsClientOf } from '../api/dns-client.js';
import { isProblem } from '../api/problem.js';

/** The record sets of a team through the DNS API. */
export const dnsSetApi = (team: string, client: DnsClient = dnsClientOf(team)): SetApi =>
  recordSetApi({
    request: async (method, path, body) =>
      (await client.request(method, path, body === undefined ? {} : { body })).body,
    failureOf: (error) => (isProblem(error) ? error : null),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  });

/** @param error what a request threw */
export function classifyDnsFailure(error: unknown): Failure {
  if (!isProblem(error)) throw error;
  return classifyFailure(error, 'Your session has ended. Sign in and resume.');
}
