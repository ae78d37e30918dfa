export { callerRoot, DNS_SCOPE, type DnsCaller, maySee, mayWriteType } from './dns-caller.js';
export { type DnsSession, type DnsSessionOwner, startDnsSession } from './dns-session-store.js';
export { DnsTokenRefused, hashDnsToken, isWellFormedDnsToken, mintDnsToken, type NewDnsToken } from './dns-token.js';
export {
  bearerToken,
  dnsCallerOf,
  findDnsCaller,
  type RequireDnsTokenOptions,
  requireDnsToken,
  type TokenRefusal,
} from './dns-token-middleware.js';
export {
  type DnsTokenActor,
  type DnsTokenRecord,
  type DnsTokenStore,
  displayNameOf,
  dnsTokenRecordOf,
  dnsTokenStore,
  inForce,
  isKept,
  issueDnsToken,
  type LeftDnsToken,
  leaveDnsTokens,
  revokeDnsToken,
  shownOfDnsToken,
} from './dns-token-store.js';
export { type DnsTokenVerifier, dnsTokenVerifier } from './dns-token-verifier.js';
export { endUser, type LeftTeam, type UserEnd } from './end-user.js';
export type { IdentityClaims, Person } from './identity-rules.js';
export { type IdentityRecord, IdentityRefused, type IdentityStore, identityStore } from './identity-store.js';
export type { UseRecorder } from './last-used.js';
export { lastUsedRecorder, sessionUseRecorder } from './last-used.js';
export { countRequests, type RequestCounter, requestCounter } from './request-counter.js';
export { hashSessionSecret, mintSessionSecret, SESSION_COOKIE, sessionSecretOf } from './session-cookie.js';
export { type LoadSessionOptions, loadSession, sessionCookieOf, sessionOf } from './session-middleware.js';
export {
  type Membership,
  type Session,
  type SessionOrigin,
  type SessionRecord,
  type SessionStore,
  type SessionTimes,
  type StartedSession,
  sessionStore,
} from './session-store.js';
export { roleCovers, type TeamRecord, TeamRuleError, type TeamStore, teamStore } from './team-store.js';
export { type MemberRecord, type UserRecord, type UserStore, userStore } from './user-store.js';
