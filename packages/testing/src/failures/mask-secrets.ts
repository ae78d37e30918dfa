/**
 * Logs hold no secrets, but commands print them on purpose, and tests print what they like. Random texts of upper and lower
 * case look like a token or a password; names of ours, and hashes, are in lower case.
 */
const RANDOM_TEXT = /(?<![\w-])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?:(?=[\w-]*\d)[\w-]{24,}|[\w-]{40,})/g;
const KEY = /-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?-----END \1-----/gs;

export const maskSecrets = (text: string): string =>
  text
    .replace(KEY, '(private key)')
    .replace(RANDOM_TEXT, (secret) => `${secret.slice(0, 3)}…(${secret.length} characters)`);
