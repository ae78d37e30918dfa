import { orLate } from '@corral/wire';
import type { Redis } from 'ioredis';
import type { BucketRule } from './token-bucket.js';

/**
 * For each key: refills the bucket, grants as many of the requested tokens as it has or as may be promised ahead (a
 * negative amount gives tokens back), and returns the grant and the rest. Uses Redis' clock, so that the replicas'
 * clocks do not matter.
 */
const takeScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = {}
for i, key in ipairs(KEYS) do
  local capacity, period = tonumber(ARGV[4*i-3]), tonumber(ARGV[4*i-2])
  local asked, ahead = tonumber(ARGV[4*i-1]), tonumber(ARGV[4*i])
  local kept = redis.call('HMGET', key, 'tokens', 'at')
  local tokens = tonumber(kept[1]) or capacity
  local at = tonumber(kept[2]) or now
  tokens = math.min(capacity, tokens + math.max(0, now - at) * capacity / period)
  local grant = asked
  if asked > 0 then grant = math.max(0, math.min(asked, math.floor(tokens + ahead + 1e-9))) end
  tokens = math.min(capacity, tokens - grant)
  redis.call('HSET', key, 'tokens', tostring(tokens), 'at', now)
  redis.call('PEXPIRE', key, period * 2)
  answer[2*i-1] = grant
  answer[2*i] = tostring(tokens)
end
return answer`;

export interface Question {
  /** Tokens; negative to give back. */
  readonly amount: number;
  /** Tokens that may be taken before they have flowed in. */
  readonly ahead: number;
}

export interface Answer {
  readonly grant: number;
  /** Tokens left in Redis; negative by the number promised ahead. */
  readonly rest: number;
}

interface Asked extends Question {
  readonly key: string;
  readonly rule: BucketRule;
  readonly answered: (answer: Answer) => void;
  readonly failed: (error: Error) => void;
}

/** Requests tokens from Redis. Requests of the same moment share one call, in order. */
export function batchedAsk(redis: Redis, timeoutMs: number) {
  let batch: Asked[] = [];
  const lateError = () => new Error(`Redis gave no answer within ${timeoutMs} ms`);

  const send = async (): Promise<void> => {
    const asked = batch;
    batch = [];
    try {
      const keys = asked.map(({ key }) => `corral:limit:${key}`);
      const args = asked.flatMap(({ rule, amount, ahead }) => [rule.capacity, rule.periodMs, amount, ahead]);
      const reply = await orLate(redis.eval(takeScript, keys.length, ...keys, ...args), timeoutMs, lateError);
      const values = reply as (number | string)[];
      for (const [index, { answered }] of asked.entries()) {
        answered({ grant: Number(values[2 * index]), rest: Number(values[2 * index + 1]) });
      }
    } catch (error) {
      for (const { failed } of asked) failed(error as Error);
    }
  };

  return (key: string, rule: BucketRule, question: Question): Promise<Answer> =>
    new Promise((answered, failed) => {
      if (batch.length === 0) setImmediate(() => void send());
      batch.push({ key, rule, ...question, answered, failed });
    });
}
