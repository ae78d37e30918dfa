export { bearerToken } from './bearer.js';
export { callerRoot, DNS_SCOPE, type DnsCaller, maySee, mayWriteType } from './dns-caller.js';
export { hashDnsToken, isWellFormedDnsToken, mintDnsToken } from './dns-token.js';
export {
  dnsCallerOf,
  type RequireDnsTokenOptions,
  requireDnsToken,
  type TokenRefusal,
} from './dns-token-middleware.js';
export { type DnsTokenRecord, type DnsTokenStore, dnsTokenStore, type NewDnsToken } from './dns-token-store.js';
export { type DnsTokenVerifier, dnsTokenVerifier } from './dns-token-verifier.js';
export { type LastUsedRecorder, lastUsedRecorder } from './last-used.js';
export { type TeamRecord, TeamRuleError, type TeamStore, teamStore } from './team-store.js';
