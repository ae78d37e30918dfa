import { cutText, type NotificationKind } from '@corral/contracts';
import { dayOf, escaped, linkTo, oneLine, type Place, type RenderedMail } from './render-invitation.js';

/** Something that needs attention. */
export interface DigestItem {
  /** Slug. */
  readonly team: string;
  readonly kind: NotificationKind;
  /** The name of what it is about. */
  readonly name: string;
  readonly detail: string;
  readonly endsAt: Date | null;
}

/** What was found for a person at a time. */
export interface Digest {
  readonly email: string;
  readonly userId: string;
  readonly foundAt: Date;
  /** One or more, those of a team one after the other. */
  readonly items: readonly DigestItem[];
}

const sentences: Readonly<Record<NotificationKind, (item: DigestItem, end: string) => string>> = {
  failed_operations: ({ name, detail }) => `An operation on ${name} has failed: ${detail}`,
  rejected_connections: ({ name }) => `The provider rejects the token of the connection ${name}. Enter a new one.`,
  ending_tokens: ({ name, detail }, end) => `The ${detail} ${name} ends on ${end}.`,
  ending_record_sets: ({ name, detail }) =>
    `The record set ${name} ${detail} ends soon, because of its label corral/expires.`,
  ending_versions: ({ name, detail }, end) => `Kubernetes ${detail} of the cluster ${name} is supported until ${end}.`,
};

/** A sentence in one line. Names and messages may be of others. */
const sentenceOf = (item: DigestItem): string =>
  oneLine(sentences[item.kind](item, item.endsAt === null ? '' : dayOf(item.endsAt)));

/** More would be read by nobody; the rest is counted. */
const SHOWN_MAX = 50;
const SUBJECT_CHARACTERS = 120;

/** Renders one mail for everything that was found. */
export function renderDigest({ email, userId, foundAt, items }: Digest, place: Place): RenderedMail {
  const shown = items.slice(0, SHOWN_MAX);
  const rest = items.length - shown.length;
  const lines = shown.map((item) => `${item.team}: ${sentenceOf(item)}`);
  if (rest > 0) lines.push(`And ${rest} more.`);
  const teams = [...new Set(items.map(({ team }) => team))].join(', ');
  const subject = items.length === 1 ? lines.join() : `${items.length} things need attention in ${teams}`;
  const where =
    place.kind === 'console' ? 'Which of these mails you get is a setting of yours in the console:' : 'Details:';
  const url = place.kind === 'console' ? place.url : `${place.url}/docs/`;
  return {
    to: email,
    subject: cutText(subject, SUBJECT_CHARACTERS, '…'),
    text: [...lines.map((line) => `- ${line}`), '', `${where} ${url}`, ''].join('\n'),
    html: [
      '<!doctype html>',
      '<html lang="en"><body>',
      `<ul>${lines.map((line) => `<li>${escaped(line)}</li>`).join('')}</ul>`,
      `<p>${escaped(where)} ${linkTo(url)}</p>`,
      '</body></html>',
      '',
    ].join('\n'),
    messageKey: `${userId}.${foundAt.getTime()}`,
  };
}
