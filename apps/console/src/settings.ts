/** What the server tells the page in its first answer. */
export interface Settings {
  /** Whether people can sign in at an OpenID Connect provider. */
  readonly openIdConnect: boolean;
  /** Whether an address is enough to sign in. For development only. */
  readonly devSignIn: boolean;
  /** The version of the installation. */
  readonly version: string;
}

function contentOf(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';
}

export const settings: Settings = JSON.parse(
  contentOf('corral') || '{"openIdConnect":true,"devSignIn":false,"version":"development"}',
);

/** The Content-Security-Policy allows styles with this value. Browsers hide it from `getAttribute`. */
export const nonce: string =
  document.querySelector<HTMLMetaElement & { nonce?: string }>('meta[property="csp-nonce"]')?.nonce ?? '';
