import {
  clusterLimits,
  codeChallengePattern,
  commandLineClient,
  redirectUriPattern,
  statePattern,
  textRules,
} from '@corral/contracts';
import { escaped } from '../html.js';
import { invalidField } from '../problem.js';
import { authorizationPath } from './return-path.js';

/** What a program of a person's machine asks for (RFC 8252). */
export interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly codeChallenge: string;
  readonly state: string;
  /** Name of the machine according to the program; null if it gave none. */
  readonly device: string | null;
}

interface TextRule {
  readonly pattern: RegExp;
  readonly max: number;
  readonly min?: number;
  /** Continues a sentence after the parameter's name. */
  readonly must: string;
}

const rules = {
  redirect_uri: {
    pattern: new RegExp(redirectUriPattern),
    max: clusterLimits.redirectUriCharacters,
    must: 'must be an address such as http://127.0.0.1:51004/callback',
  },
  code_challenge: {
    pattern: new RegExp(codeChallengePattern),
    max: 43,
    must: 'must be a SHA-256 in base64url, 43 characters',
  },
  state: {
    pattern: new RegExp(statePattern),
    min: clusterLimits.stateCharactersMin,
    max: clusterLimits.stateCharacters,
    must: `must be ${clusterLimits.stateCharactersMin} to ${clusterLimits.stateCharacters} of A-Z a-z 0-9 . _ ~ -`,
  },
  device: {
    pattern: new RegExp(textRules.device.pattern),
    max: clusterLimits.deviceCharacters,
    must: textRules.device.must,
  },
} as const satisfies Record<string, TextRule>;

/**
 * Reads the query of the page. The route table has checked which parameters there are, and those with a fixed value.
 *
 * @throws Problem `validation_failed`. It is not sent to `redirect_uri`, which may be what is wrong
 */
export function parseAuthorizationRequest(query: URLSearchParams): AuthorizationRequest {
  const read = (name: keyof typeof rules): string => {
    const text = query.get(name) ?? '';
    const { pattern, max, must, min = 1 }: TextRule = rules[name];
    if (text.length < min || text.length > max || !pattern.test(text)) {
      throw invalidField('validation_failed', `/query/${name}`, must);
    }
    return text;
  };
  const redirectUri = read('redirect_uri');
  if (!URL.canParse(redirectUri))
    throw invalidField('validation_failed', '/query/redirect_uri', 'must have a port from 1 to 65535');
  return {
    redirectUri,
    codeChallenge: read('code_challenge'),
    state: read('state'),
    device: query.has('device') ? read('device') : null,
  };
}

/** The path of the page for a request, to return to after a sign-in. */
export function pathOfAuthorization({ redirectUri, codeChallenge, state, device }: AuthorizationRequest): string {
  const query = new URLSearchParams({
    client_id: commandLineClient,
    response_type: 'code',
    redirect_uri: redirectUri,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
    state,
    ...(device === null ? {} : { device }),
  });
  return `${authorizationPath}?${query}`;
}

/** How the page and the list of sessions name the program. */
export const nameOfProgram = ({ device }: Pick<AuthorizationRequest, 'device'>): string =>
  device === null ? 'Corral CLI' : `Corral CLI on ${device}`;

export interface ConfirmationPage {
  /** What asks, as it named itself. */
  readonly program: string;
  readonly email: string;
  readonly redirectUri: string;
  /** The encrypted request, for the form. */
  readonly sealed: string;
}

/** Asks a signed-in person whether a program may sign in as them. */
export function confirmationPage({ program, email, redirectUri, sealed }: ConfirmationPage) {
  const { origin, hostname } = new URL(redirectUri);
  return {
    title: 'Sign in to the command line',
    // Browsers apply it to the redirect after the form too, and it cannot name an IPv6 address.
    leadsTo: hostname.startsWith('[') ? 'http:' : origin,
    content: `<h1>Let a program sign in as you?</h1>
<p><strong>${escaped(program)}</strong> asks to sign in as <strong>${escaped(email)}</strong>. It can then do everything that
you can do, until its session ends. You can end it under your sessions.</p>
<p>Allow it only if you have just started it yourself. Its name is not proven. It waits at <code>${escaped(origin)}</code> of
this computer.</p>
<form method="post" action="/auth/authorize/">
<input type="hidden" name="request" value="${escaped(sealed)}">
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny" class="plain">Do not allow</button>
</form>`,
  };
}

export interface DevSignInPage {
  readonly emails: readonly string[];
  /** Path of this service. */
  readonly returnTo: string;
  /** The path of the sign-in at an identity provider instead; null without one. */
  readonly otherWay: string | null;
}

/** Sign-in with an address alone, for development. */
export function devSignInPage({ emails, returnTo, otherWay }: DevSignInPage) {
  const people = emails.map((email) => `<option value="${escaped(email)}"></option>`).join('');
  const link = otherWay === null ? '' : `<p><a href="${escaped(otherWay)}">Sign in at the identity provider</a></p>`;
  return {
    title: 'Sign in',
    content: `<h1>Sign in first</h1>
<p>Development: sign in as anybody, without a password.</p>
<form method="post" action="/auth/dev-login/">
<input type="hidden" name="return_to" value="${escaped(returnTo)}">
<p><label>E-mail address <input type="email" name="email" list="people" required autofocus></label></p>
<datalist id="people">${people}</datalist>
<button>Sign in</button>
</form>
${link}`,
  };
}
