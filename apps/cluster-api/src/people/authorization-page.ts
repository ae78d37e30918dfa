/* The pages of the sign-in for the command line, as `sendFormPage` takes them. */

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
  /** Where to sign in at an identity provider instead; null without one. */
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

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
