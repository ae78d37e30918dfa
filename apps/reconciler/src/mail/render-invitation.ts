import { cutText, type Role, roleNames, shownNameOf } from '@corral/contracts';

/** Content of an invitation mail. */
export interface InvitationMail {
  readonly id: string;
  /** The recipient. */
  readonly email: string;
  readonly role: Role;
  readonly teamName: string;
  /** Name and address of the inviter. */
  readonly inviterName: string;
  readonly inviterEmail: string;
  readonly expiresAt: Date;
}

export interface RenderedMail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Local part of the Message-ID. The same for each attempt, so that mail clients can detect duplicates. */
  readonly messageKey: string;
}

/** Invitations are accepted there: in the console or at the API. The URL is a base without a trailing slash. */
export interface Place {
  readonly kind: 'console' | 'api';
  readonly url: string;
}

interface PlaceOptions {
  readonly consoleUrl: string | undefined;
  readonly apiUrl: string | undefined;
  /** Whether the API serves a console. */
  readonly consoleEnabled: boolean;
}

/** @returns null when neither is known */
export function placeOf({ consoleUrl, apiUrl, consoleEnabled }: PlaceOptions): Place | null {
  if (consoleUrl !== undefined) return { kind: 'console', url: withoutSlash(consoleUrl) };
  if (apiUrl === undefined) return null;
  const url = withoutSlash(apiUrl);
  return consoleEnabled ? { kind: 'console', url: `${url}/console` } : { kind: 'api', url };
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

const SUBJECT_NAME_CHARACTERS = 60;
const NAME_CHARACTERS = 500;

/** Renders an invitation mail. Names are user input: they are escaped in HTML, and line breaks are removed from headers. */
export function renderInvitation(invitation: InvitationMail, place: Place): RenderedMail {
  const { id, email, expiresAt } = invitation;
  const teamName = oneLine(invitation.teamName);
  const inviter = callerOf(invitation);
  const howTo = place.kind === 'console' ? acceptInConsole(invitation, place) : acceptOverApi(invitation, place);
  const role = roleNames[invitation.role];
  const until = dayOf(expiresAt);
  const why = `You received this mail because someone entered the address ${email}. If you did not expect it, ignore it.`;
  return {
    to: email,
    subject: `Invitation to the team ${cutText(teamName, SUBJECT_NAME_CHARACTERS, '…')}`,
    text: [
      `${inviter} invites you to join as ${role} of the team “${teamName}”.`,
      '',
      ...howTo.text,
      '',
      `The invitation is valid until ${until}.`,
      '',
      why,
      '',
    ].join('\n'),
    html: [
      '<!doctype html>',
      '<html lang="en"><body>',
      `<p>${escaped(inviter)} invites you to join as ${role} of the team <strong>${escaped(teamName)}</strong>.</p>`,
      ...howTo.html,
      `<p>The invitation is valid until ${until}.</p>`,
      `<p>${escaped(why)}</p>`,
      '</body></html>',
      '',
    ].join('\n'),
    // A renewal has another expiry, and therefore another Message-ID.
    messageKey: `${id}.${expiresAt.getTime()}`,
  };
}

interface Lines {
  readonly text: readonly string[];
  readonly html: readonly string[];
}

function acceptInConsole({ id, email }: InvitationMail, { url }: Place): Lines {
  const link = `${url}/invitations/${id}/`;
  const ask = `To accept, sign in with the address ${email} and open:`;
  return { text: [ask, '', link], html: [`<p>${escaped(ask)}</p>`, `<p>${linkTo(link)}</p>`] };
}

/** A browser can open only the API's reference page. Accepting needs a session and a POST. */
function acceptOverApi({ id, email }: InvitationMail, { url }: Place): Lines {
  const request = `POST ${url}/invitations/${id}/accept/`;
  const reference = `${url}/docs/`;
  const ask = `To accept, sign in to the API with the address ${email}, then send this request with your session:`;
  const help = 'How to sign in, and a page that sends requests:';
  return {
    text: [ask, '', request, '', `${help} ${reference}`],
    html: [`<p>${escaped(ask)}</p>`, `<pre>${escaped(request)}</pre>`, `<p>${help} ${linkTo(reference)}</p>`],
  };
}

export const linkTo = (url: string): string => `<a href="${escaped(url)}">${escaped(url)}</a>`;

/** An inviter without a name is shown by the address, only once. */
function callerOf({ inviterName, inviterEmail }: InvitationMail): string {
  const name = oneLine(inviterName);
  return name === inviterEmail ? name : `${name} (${inviterEmail})`;
}

/** Names may be older than the rule for them. */
export const oneLine = (text: string): string => shownNameOf(text, NAME_CHARACTERS);

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => entities[character] as string);

/** The day and time in words, such as `5 December 2026, 12:00 UTC`. */
export function dayOf(time: Date): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  });
  return `${format.format(time)}, ${time.toISOString().slice(11, 16)} UTC`;
}
