import { clusterLimits } from './cluster/limits.js';
import { timePattern } from './time.js';

/** What texts of one kind must look like. */
export interface TextRule {
  /** The pattern of a schema. It has no named classes and no lookbehind, which not every consumer of the documents supports. */
  readonly pattern: string;
  /** Ends a sentence that begins with the name of the field. */
  readonly must: string;
}

const slug = (characters: number): TextRule => ({
  pattern: `^[a-z0-9]([-a-z0-9]{0,${characters - 2}}[a-z0-9])?$`,
  must: `must be 1 to ${characters} lower-case letters, digits and hyphens, with a letter or digit at both ends`,
});

const blank = ' \\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000';
/**
 * Ends of lines, other controls, marks and overrides of direction, and characters without width or ink. Two names that differ only in
 * these look alike, and an override changes how the text around a name is read (Unicode Technical Report 36, section 2.5).
 */
const hidden =
  '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e' +
  '\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\uffff';
/** They join emoji, and letters of scripts such as Persian and Hindi; between other characters they only hide. */
const joiners = '\\u200c\\u200d';
const joined = `[^\\u0000-\\u007f${blank}${hidden}](?:[${joiners}][^\\u0000-\\u007f${blank}${hidden}])+`;

/** The rules of texts in requests, each with its sentence. */
export const textRules = {
  name: slug(clusterLimits.clusterNameCharacters),
  poolName: slug(clusterLimits.poolNameCharacters),
  ref: slug(clusterLimits.refCharacters),
  /** Names that people read: teams, tokens, connections, demos. At least one character is visible. */
  shownName: {
    pattern: `^[${blank}]*(?:[^${blank}${hidden}]|${joined})(?:[^${hidden}]|${joined})*$`,
    must: 'must have a visible character, and no line breaks, control characters, invisible characters or marks of text direction',
  },
  /** The name of a machine, which is shown to a person and is not proven. */
  device: {
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    must: `must be a host name of at most ${clusterLimits.deviceCharacters} characters`,
  },
  /** A name that a certificate and an Ingress can have. */
  hostedName: {
    pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
    must: `must be a name relative to the zone such as shop.acme, of at most ${clusterLimits.hostedNameCharacters} lower-case letters, digits, hyphens and dots`,
  },
  kubernetesVersion: { pattern: '^[0-9]+\\.[0-9]+(\\.[0-9]+)?$', must: 'must be a version such as 1.34 or 1.34.3' },
  visibleAscii: { pattern: '^[\\x21-\\x7e]+$', must: 'must consist of visible ASCII characters, without spaces' },
  /** Rejects only obvious mistakes. Signing in proves that an address works. */
  email: {
    pattern: `^[^@\\s${hidden}]+@[^@\\s${hidden}]+$`,
    must: 'must be an e-mail address such as ada@example.com',
  },
  /** Exactly one address in a domain, which every mail server and address list reads alike. */
  mailAddress: {
    pattern:
      "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$",
    must: 'must be one e-mail address such as ada@example.com, without a name',
  },
  /** The label that ends a record set. The upstream permits no colon in labels. */
  expires: {
    pattern:
      '^([1-9][0-9]{0,3}[hd]|[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(T([01][0-9]|2[0-3])\\.[0-5][0-9]Z)?)$',
    must: 'must be a duration such as 36h or 14d, or a time such as 2026-12-31 or 2026-12-31T18.30Z',
  },
  time: { pattern: timePattern, must: 'must be a time such as 2026-11-21T12:00:00Z' },
  date: { pattern: '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$', must: 'must be a date such as 2026-12-24' },
  timeOfDay: { pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', must: 'must be a time of day such as 07:30' },
  endOfHours: {
    pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$',
    must: 'must be a time of day such as 20:00, or 24:00 for the end of the day',
  },
  timeZone: { pattern: '^[A-Za-z][A-Za-z0-9_+/-]*$', must: 'must be the name of a time zone such as Europe/Berlin' },
  issuerUrl: {
    pattern: '^https?://[^\\s?#@]+$',
    must: 'must be a URL such as https://issuer.example.com, without a query',
  },
  webhookUrl: { pattern: '^https?://[^\\s#]+$', must: 'must be a URL such as https://hooks.example.com/corral' },
  claimName: { pattern: '^[\\w.:/-]+$', must: 'must consist of letters, digits and _ . : / -' },
  clusterPattern: {
    pattern: '^\\*?[a-z0-9-]*\\*?$',
    must: 'must be the name of a cluster, or begin or end with *, such as ci-*',
  },
  /** RFC 7636 section 4.1. */
  codeVerifier: { pattern: '^[A-Za-z0-9._~-]{43,128}$', must: 'must be 43 to 128 characters of A-Z a-z 0-9 . _ ~ -' },
} as const satisfies Record<string, TextRule>;

const sentences = new Map<string, string>(Object.values(textRules).map(({ pattern, must }) => [pattern, must]));

/** The end of the sentence about a text that does not match the pattern. Null for a pattern that is none of the rules. */
export const sentenceOfPattern = (pattern: string): string | null => sentences.get(pattern) ?? null;

const shownName = new RegExp(textRules.shownName.pattern, 'u');
export const isShownName = (text: string): boolean => shownName.test(text);

const endsOfWords = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu;
const withoutInk = new RegExp(`[${hidden}]`, 'gu');

/**
 * A name from elsewhere, such as a provider of identities, as people may read it: without what `shownName` does not permit, in one line
 * of at most so many characters. Empty when nothing visible is left.
 */
export function shownNameOf(text: string, charactersMax: number): string {
  const line = text.replaceAll(endsOfWords, ' ').replaceAll(/\s+/g, ' ').trim();
  const cut = cutText(isShownName(line) ? line : line.replaceAll(withoutInk, ''), charactersMax).trim();
  // The cut may have left a joiner at the end.
  return isShownName(cut) ? cut : cut.replaceAll(withoutInk, '').trim();
}

/**
 * The first characters of a text, and never half of one: Postgres stores no half of a surrogate pair, and strict parsers of
 * JSON read none.
 *
 * @param charactersMax Unicode code points, as Postgres and JSON Schema count
 * @param end what a text that was cut ends with, within `charactersMax`
 */
export function cutText(text: string, charactersMax: number, end = ''): string {
  if (text.length <= charactersMax) return text;
  // Enough for one character more than allowed, each of two code units.
  const characters = [...text.slice(0, 2 * (charactersMax + 1))];
  if (characters.length <= charactersMax) return text;
  return characters.slice(0, charactersMax - [...end].length).join('') + end;
}

/** Control characters and halves of surrogate pairs. */
const unstorable = /[\p{Cc}\p{Surrogate}]/gu;

/**
 * The start of a text from outside, in a form that can be stored and fits in a line.
 *
 * @param charactersMax Unicode code points
 * @param replacement of a character that cannot be stored
 */
export const storableText = (text: string, charactersMax: number, replacement = ' '): string =>
  cutText(text, charactersMax).replaceAll(unstorable, replacement);
