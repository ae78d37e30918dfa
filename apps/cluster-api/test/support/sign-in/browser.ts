import type { Response as CheckedResponse } from 'supertest';
import { CookieJar } from 'tough-cookie';
import { checkAnswer } from '../checked-client.js';

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly setCookies: readonly string[];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: bodies are checked against the contract
  readonly body: any;
}

interface Send {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
}

const HOPS_MAX = 12;

/**
 * A client that follows redirects and keeps cookies per host, like a browser.
 *
 * @param publicUrl the origin whose answers are checked against the contract
 */
export function openBrowser(publicUrl: string, userAgent = 'Browser of the tests') {
  const jar = new CookieJar();

  /** Sends one request without following redirects. */
  const send = async (
    url: string,
    { form, method = form === undefined ? 'GET' : 'POST', headers = {} }: Send = {},
  ): Promise<Page> => {
    const answer = await fetch(url, {
      method,
      redirect: 'manual',
      headers: { 'User-Agent': userAgent, Cookie: await jar.getCookieString(url), ...headers },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    });
    const setCookies = answer.headers.getSetCookie();
    for (const cookie of setCookies) await jar.setCookie(cookie, url);
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    const page = {
      url,
      status: answer.status,
      setCookies,
      text,
      body: isJson ? JSON.parse(text) : {},
      headers: Object.fromEntries(answer.headers),
    };
    const { origin, pathname, search } = new URL(url);
    if (origin === publicUrl) {
      checkAnswer(page as unknown as CheckedResponse, method.toLowerCase(), pathname + search, publicUrl);
    }
    return page;
  };

  const leadsTo = ({ url, headers }: Page) =>
    headers.location === undefined ? null : new URL(headers.location, url).href;

  return {
    jar,
    send,
    /** Follows redirects to the end. */
    async visit(url: string): Promise<Page> {
      let page = await send(url);
      for (let hop = 0, next = leadsTo(page); next !== null; hop += 1, next = leadsTo(page)) {
        if (hop === HOPS_MAX) throw new Error(`${url} leads round in circles, lastly to ${next}`);
        page = await send(next);
      }
      return page;
    },
    /** Follows redirects until the next URL starts with `prefix`. @returns that URL without requesting it */
    async walkTo(url: string, prefix: string): Promise<string> {
      let next = url;
      for (let hop = 0; !next.startsWith(prefix); hop += 1) {
        const page = await send(next);
        const following = leadsTo(page);
        if (following === null || hop === HOPS_MAX)
          throw new Error(`${next} ends with ${page.status}, not at ${prefix}`);
        next = following;
      }
      return next;
    },
  };
}
export type Browser = ReturnType<typeof openBrowser>;
