/** The first that fits counts: browsers name the ones whose pages they can show as well. */
const browsers = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const;
const systems = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
] as const;

/** "Chrome on Linux". A program that is no browser stays as it calls itself. */
export function programOf(userAgent: string): string {
  const nameIn = (names: typeof browsers | typeof systems) => names.find(([form]) => form.test(userAgent))?.[1];
  const [browser, system] = [nameIn(browsers), nameIn(systems)];
  if (browser === undefined) return userAgent || 'unknown';
  return system === undefined ? browser : `${browser} on ${system}`;
}
