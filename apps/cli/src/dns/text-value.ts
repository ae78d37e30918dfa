import { quotedText as quoted } from '@corral/contracts';

/**
 * The value of a TXT record in the form that the API takes: quoted strings of at most 255 bytes (RFC 1035 section 3.3.14). A
 * value that begins with a quote is in that form already.
 */
export const quotedText = (text: string): string => (text.startsWith('"') ? text : quoted(text));
