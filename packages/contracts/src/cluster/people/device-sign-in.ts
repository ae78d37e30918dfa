import type { FromSchema } from 'json-schema-to-ts';
import { strictParserFor } from '../../parser-for.js';
import { closed, exactly } from '../../schema-objects.js';
import { textRules } from '../../text-rules.js';
import { clusterLimits } from '../limits.js';
import { filled, text, time } from '../schema-parts.js';
import { commandLineClient } from './command-line.js';

/* Sign-in of machines without a browser: the device authorization grant (RFC 8628). */

export const deviceCodeGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** Letters without vowels, so that a code is no word, and without what is taken for another letter (RFC 8628 section 6.1). */
export const userCodeLetters = 'BCDFGHJKLMNPQRSTVWXZ';
const USER_CODE_LETTERS = 8;
const userCodePattern = `^[${userCodeLetters}]{${USER_CODE_LETTERS}}$`;
const isUserCode = new RegExp(userCodePattern);

/** Reads a code as people type it: with small letters, spaces and hyphens. @returns null for what is no code */
export function userCodeOf(typed: string): string | null {
  const code = typed.replaceAll(/[\s\p{Dash}]/gu, '').toUpperCase();
  return isUserCode.test(code) ? code : null;
}

/** @param at gives the place of a letter, from 0 up to and without its parameter */
export const newUserCode = (at: (letters: number) => number): string =>
  Array.from({ length: USER_CODE_LETTERS }, () => userCodeLetters[at(userCodeLetters.length)]).join('');

/** A code as people read it: `BCDF-GHJK`. */
export const shownUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

/** Unknown parameters are ignored (RFC 6749 section 3.2). */
export const devicePostSchema = {
  type: 'object',
  required: ['client_id'],
  properties: {
    client_id: { enum: [commandLineClient], description: 'The program that asks.' },
    device: {
      type: 'string',
      minLength: 1,
      maxLength: clusterLimits.deviceCharacters,
      pattern: textRules.device.pattern,
      description: 'Name of the machine, for the page and the list of sessions.',
    },
  },
} as const;
export type DevicePost = FromSchema<typeof devicePostSchema>;
export const parseDevicePost = strictParserFor<DevicePost>(devicePostSchema);

const seconds = { type: 'integer', minimum: 1 } as const;

export const deviceAuthorizationSchema = exactly({
  device_code: {
    ...filled,
    description: 'What the machine polls `/auth/token/` with. Shown only once, and not stored.',
  },
  user_code: { ...filled, description: 'What the person types on the page, such as `BCDF-GHJK`.' },
  verification_uri: { ...filled, description: 'The page.' },
  verification_uri_complete: { ...filled, description: 'The page with the code filled in.' },
  expires_in: { ...seconds, description: 'Seconds until both codes end.' },
  interval: { ...seconds, description: 'Seconds between two polls.' },
});

export const deviceSignInSchema = exactly({
  name: { ...filled, description: '`Corral CLI on` a machine, whose name is not proven.' },
  address: { ...text, description: 'IP address from which the machine asked.' },
  userAgent: { ...text, description: 'User agent of the program, truncated to 200 characters; may be empty.' },
  createdAt: { ...time, description: 'When the machine asked.' },
  expiresAt: { ...time, description: 'When the code ends.' },
});

export const deviceDecisionSchema = closed(['decision'], { decision: { enum: ['allow', 'deny'] } });
export const parseDeviceDecision = strictParserFor<{ readonly decision: 'allow' | 'deny' }>(deviceDecisionSchema);
