import { hash, randomBytes } from 'node:crypto';

/** Lets scanners of repositories recognise a token. */
const PREFIX = 'corral_';
const SECRET_BYTES = 32;
const wellFormed = /^corral_[\w-]{43}$/;

/** Creates the text of a service account's token: 256 random bits after a fixed prefix. */
export const mintAccountToken = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64url');

/** The stored form. A fast hash is enough because the text is random. */
export const hashAccountToken = (token: string): Buffer => hash('sha256', token, 'buffer');

/** Rejects other texts without a look-up. */
export const isWellFormedAccountToken = (text: string): boolean => wellFormed.test(text);
