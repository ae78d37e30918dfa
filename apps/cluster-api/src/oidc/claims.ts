import type { IdentityClaims } from '@corral/auth';

type Claims = Readonly<Record<string, unknown>>;

/** Whether the ID token leaves open who the person is: many providers tell that at their userinfo endpoint only. */
export const lacksPerson = (idToken: Claims): boolean => !saysEmail(idToken) || !saysName(idToken);

const saysEmail = (claims: Claims): boolean => claims.email !== undefined && claims.email_verified !== undefined;
const saysName = ({ name, given_name: given, family_name: family }: Claims): boolean =>
  [name, given, family].some((claim) => claim !== undefined);

/**
 * Reads the standard claims (OpenID Connect Core 1.0 section 5.1). The address and whether it is verified come from one
 * document: the one may not vouch for the address of the other.
 *
 * @param idToken checked, as is that `userInfo` is about the same subject
 */
export function claimsOf(idToken: Claims, userInfo: Claims | null): IdentityClaims {
  const about = userInfo === null || saysEmail(idToken) ? idToken : userInfo;
  const all = { ...userInfo, ...idToken };
  return {
    issuer: idToken.iss as string,
    subject: idToken.sub as string,
    email: textOf(about.email),
    // Nothing but the boolean: what a provider means by other values is for nobody to guess.
    emailVerified: about.email_verified === true,
    firstName: textOf(all.given_name),
    lastName: textOf(all.family_name),
    displayName: textOf(all.name),
  };
}

const textOf = (claim: unknown): string | null => (typeof claim === 'string' ? claim : null);
