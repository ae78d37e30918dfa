/** What the mail of an invitation tells. */
export interface InvitationMail {
  readonly id: string;
  /** Whom it goes to. */
  readonly email: string;
  readonly role: string;
  readonly teamName: string;
  /** How the one who invites is called, and their address. */
  readonly inviterName: string;
  readonly inviterEmail: string;
  readonly expiresAt: Date;
}

export interface RenderedMail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The same for each attempt, so that mailboxes can tell a mail that was sent twice. Without its domain. */
  readonly messageKey: string;
}

const SUBJECT_NAME_CHARACTERS = 60;

/**
 * Makes the mail of an invitation. Names come from people: in HTML they are text, and a header holds no line break.
 *
 * @param consoleUrl base address of the console, without a slash at its end
 */
export function renderInvitation(invitation: InvitationMail, consoleUrl: string): RenderedMail {
  const { id, email, expiresAt } = invitation;
  const teamName = oneLine(invitation.teamName);
  const inviter = callerOf(invitation);
  const link = `${consoleUrl}/invitations/${id}/`;
  const role = invitation.role === 'admin' ? 'an administrator' : 'a member';
  const until = dayOf(expiresAt);
  const why = `You get this because somebody entered ${email}. If you do not expect it, do nothing.`;
  return {
    to: email,
    subject: `Invitation to the team ${cut(teamName, SUBJECT_NAME_CHARACTERS)}`,
    text: [
      `${inviter} invites you to be ${role} of the team “${teamName}”.`,
      '',
      `To accept, sign in with the address ${email} and open:`,
      '',
      link,
      '',
      `The invitation holds until ${until}.`,
      '',
      why,
      '',
    ].join('\n'),
    html: [
      '<!doctype html>',
      '<html lang="en"><body>',
      `<p>${escaped(inviter)} invites you to be ${role} of the team <strong>${escaped(teamName)}</strong>.</p>`,
      `<p>To accept, sign in with the address ${escaped(email)} and open:</p>`,
      `<p><a href="${escaped(link)}">${escaped(link)}</a></p>`,
      `<p>The invitation holds until ${until}.</p>`,
      `<p>${escaped(why)}</p>`,
      '</body></html>',
      '',
    ].join('\n'),
    // A renewal makes another mail, and another end.
    messageKey: `${id}.${expiresAt.getTime()}`,
  };
}

/** Who is not known by a name is called by the address, and once is enough. */
function callerOf({ inviterName, inviterEmail }: InvitationMail): string {
  const name = oneLine(inviterName);
  return name === inviterEmail ? name : `${name} (${inviterEmail})`;
}

/** Control characters and separators of lines are blanks, wherever a name came from. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();

const cut = (text: string, characters: number): string => {
  const points = [...text];
  return points.length <= characters ? text : `${points.slice(0, characters - 1).join('')}…`;
};

const entities: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
};
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => entities[character] as string);

/** Such as `5 December 2026, 12:00 UTC`. */
function dayOf(time: Date): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    ...{ day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' },
  });
  return `${format.format(time)}, ${time.toISOString().slice(11, 16)} UTC`;
}
