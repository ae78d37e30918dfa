import { checkDnsAnswer } from '@corral/contracts';
import { expect } from '@jest/globals';
import type { TestGateway } from './start-gateway.js';

interface AnyAnswer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: as the answers themselves
  readonly json: any;
}

/** Asserts an error in the upstream's shape, with this status and code. */
export function expectError(answer: AnyAnswer, status: number, code: string): void {
  expect([answer.status, answer.json?.error?.code ?? answer.text]).toEqual([status, code]);
  checkDnsAnswer.error(answer.json);
}

/** Asserts that the gateway refuses by itself: the error, and that the upstream never heard of the request. */
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

/** Names of the wrong fields that an error lists. */
export function fieldsOf(answer: AnyAnswer): string[] {
  return (answer.json.error.details?.fields ?? []).map((field: { name: string }) => field.name);
}
