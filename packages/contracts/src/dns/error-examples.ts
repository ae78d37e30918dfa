import type { Example } from '../openapi-parts.js';
import { type DnsErrorCode, type DnsErrorDetails, dnsErrorCodes, dnsUpstreamErrors } from './error-codes.js';

const detailsOf: Partial<Record<DnsErrorCode, DnsErrorDetails>> = {
  invalid_input: { fields: [{ name: 'records[0].value', messages: ['is required'] }] },
  resource_limit_exceeded: { limits: [{ name: 'records' }] },
};

const exampleOf = (code: string, message: string, details: DnsErrorDetails = null): Example => ({
  summary: message,
  value: { error: { code, message, details } },
});

/** An error of each code; those of the upstream begin with `upstream_refusal_`. */
export const dnsErrorExamples: Readonly<Record<string, Example>> = {
  ...Object.fromEntries(
    (Object.keys(dnsErrorCodes) as DnsErrorCode[]).map((code) => [
      code,
      exampleOf(code, dnsErrorCodes[code].meaning, detailsOf[code]),
    ]),
  ),
  ...Object.fromEntries(
    dnsUpstreamErrors.map(({ code, meaning }) => [`upstream_refusal_${code}`, exampleOf(code, meaning)]),
  ),
};
