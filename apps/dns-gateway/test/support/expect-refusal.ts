import { checkDnsAnswer } from '@corral/contracts';
import { expect } from '@jest/globals';
import type { TestGateway } from './start-gateway.js';

interface AnyAnswer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the answers have the type any, too
  readonly json: any;
}

/** Asserts an error in the format of the upstream, with this status and code. */
export function expectError(answer: AnyAnswer, status: number, code: string): void {
  expect([answer.status, answer.json?.error?.code ?? answer.text]).toEqual([status, code]);
  checkDnsAnswer.error(answer.json);
}

/** Asserts this error, and that the gateway refuses without a call to the upstream. */
export async function expectRefusal<T extends AnyAnswer>(
  gateway: TestGateway,
  send: () => Promise<T>,
  status: number,
  code: string,
): Promise<T> {
  const before = gateway.upstreamCalls();
  const answer = await send();
  expectError(answer, status, code);
  expect(gateway.upstreamCalls()).toBe(before);
  return answer;
}

/** The names of the wrong fields that an error lists. */
export function fieldsOf(answer: AnyAnswer): string[] {
  return (answer.json.error.details?.fields ?? []).map((field: { name: string }) => field.name);
}
