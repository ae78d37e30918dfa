export {
  type AccountVerifier,
  accountVerifier,
  type CallingAccount,
  hashAccountToken,
  mintAccountToken,
} from './accounts/account-tokens.js';
export { startDnsSession, startDnsSessionOfAccount } from './dns/dns-session.js';
export { replaceTokenOfName } from './dns/name-token.js';
export {
  type DnsTokenRecord,
  DnsTokenRefused,
  type DnsTokenStore,
  dnsTokenRecordOf,
  dnsTokenStore,
  type FormerMemberDnsToken,
  findDnsTokensOf,
  inForce,
  isKept,
  issueDnsToken,
  type NewDnsToken,
  revokeDnsToken,
  revokeOrHandOverDnsTokens,
  shownOfDnsToken,
} from './dns/token-store.js';
export {
  bearerToken,
  DNS_READ_SCOPE,
  DNS_SCOPE,
  type DnsCaller,
  type DnsTokenVerifier,
  dnsCallerOf,
  dnsTokenCheck,
  dnsTokenHashOf,
  dnsTokenVerifier,
  findDnsCaller,
  hashDnsToken,
  isWellFormedDnsToken,
  mintDnsToken,
  type TokenRefusal,
} from './dns/token-verifier.js';
export {
  accountTokenUseRecorder,
  countRequests,
  lastUsedRecorder,
  type RequestCounter,
  requestCounter,
  sessionUseRecorder,
  type UseRecorder,
} from './last-used.js';
export { type EndedMembership, endMembership, endUser, type UserEnd } from './people/end-user.js';
export type { IdentityClaims, Person } from './people/identity-rules.js';
export { type IdentityRecord, IdentityRefused, identityStore, unlinkIdentity } from './people/identity-store.js';
export {
  type DeletedTeamRecord,
  type NamedTeam,
  slugHeldUntil,
  type TeamRecord,
  TeamRuleError,
  type TeamStore,
  teamStore,
} from './people/team-store.js';
export {
  displayNameOf,
  type MemberRecord,
  personOf,
  type UserRecord,
  type UserStore,
  userStore,
} from './people/user-store.js';
export { type DeviceSignInStore, deviceSignInStore } from './sessions/device-sign-ins.js';
export type { PollRefusal } from './sessions/poll-rule.js';
export { type RedeemedCode, type SignInCodeStore, signInCodeStore } from './sessions/sign-in-codes.js';
export {
  hashSessionSecret,
  type Membership,
  mintSessionSecret,
  SESSION_COOKIE,
  type Session,
  type SessionRecord,
  type SessionStore,
  type StartedSession,
  sessionSecretOf,
  sessionStore,
} from './sessions/store.js';
