/** Texts of Node.js for certificates that it does not accept. Wrapped errors have them, too, but not their codes. */
const sentences: readonly (readonly [RegExp, string])[] = [
  [
    /unable to verify the first certificate|unable to get (local )?issuer certificate|self[- ]signed certificate/i,
    'The certificate of the server is not trusted: set NODE_EXTRA_CA_CERTS to a file with the certificates of your authority.',
  ],
  [
    /does not match certificate's altnames/i,
    'The certificate of the server is for another name: use a name of it in the address.',
  ],
  [/certificate has expired/i, 'The certificate of the server has expired: renew it.'],
];

/** What to do about a server whose certificate is not accepted, by the text of the error. Null for other errors. */
export const adviceOnDistrust = (text: string): string | null =>
  sentences.find(([pattern]) => pattern.test(text))?.[1] ?? null;
