import { type CallGuard, parseJsonObject } from '@corral/service';

/** Calls to the issuers that teams trust. */
export interface IssuerCalls extends Pick<CallGuard, 'refusalOfUrl'> {
  /**
   * Reads a JSON object with one GET request: no redirect, at most 256 KiB, at most 5 s.
   *
   * @throws Error without anything of the answer
   */
  readJson(url: URL): Promise<Readonly<Record<string, unknown>>>;
}

const bounds = { msMax: 5_000, bodyBytesMax: 262_144 };

export const issuerCalls = ({ refusalOfUrl, call }: CallGuard): IssuerCalls => ({
  refusalOfUrl,
  async readJson(url) {
    const refusal = refusalOfUrl(url);
    if (refusal !== null) throw new Error(`the URL ${refusal}`);
    const answer = await call(url, { method: 'GET' }, bounds);
    if (answer.kind === 'broken') throw new Error(`no answer: ${answer.cause}, ${answer.stage}`);
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    const value = parseJsonObject(answer.body);
    if (value === null) throw new Error('the answer is not a JSON object');
    return value as Readonly<Record<string, unknown>>;
  },
});
