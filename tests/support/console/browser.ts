import type { Missing } from '@corral/testing';
import { launchBrowser } from '@corral/testing/browser';

/** Why no browser can be started here; null if one can. */
export async function missingBrowser(): Promise<Missing | null> {
  try {
    const browser = await launchBrowser();
    await browser.close();
    return null;
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    return { what: 'a browser', how: 'run them on Linux with glibc, on x64', why };
  }
}
