const bundle = /^(?:-----BEGIN CERTIFICATE-----\n(?:[A-Za-z0-9+/]{1,76}={0,2}\n)+-----END CERTIFICATE-----\n*)+$/;

/** Whether a text is one or more PEM certificates and nothing else. @param charactersMax longer texts are rejected */
export function areCertificates(text: string, charactersMax: number): boolean {
  return text.length <= charactersMax && bundle.test(text);
}
