/** What a person does in the browser, without one: signs in with an address, and decides. @returns what the command answered */
export async function allowInBrowser(
  page: string,
  email: string,
  decision: 'allow' | 'deny' = 'allow',
): Promise<string> {
  const { origin, pathname, search } = new URL(page);
  const signedIn = await send(`${origin}/auth/dev-login/`, { email, return_to: `${pathname}${search}` });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const shown = await (await fetch(page, { headers: { cookie } })).text();
  const request = /name="request" value="([^"]+)"/.exec(shown)?.[1] ?? '';
  const decided = await send(`${origin}/auth/authorize/`, { request, decision }, cookie);
  const back = decided.headers.get('location');
  if (back === null) throw new Error(`The page did not lead back: ${decided.status} ${await decided.text()}`);
  return (await fetch(back)).text();
}

const send = (url: string, form: Record<string, string>, cookie = ''): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, origin: new URL(url).origin },
    body: new URLSearchParams(form),
  });
