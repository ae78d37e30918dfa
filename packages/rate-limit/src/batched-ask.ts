import type { Redis } from 'ioredis';
import type { BucketRule } from './token-bucket.js';

/**
 * For each key: fills the bucket up, takes what is asked for as far as it goes, or as far as may be promised ahead (a
 * negative number gives back), and answers the grant and what is left. Redis' own clock, so that the replicas' clocks
 * do not matter.
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
  /** Tokens; a negative number gives back. */
  readonly amount: number;
  /** Tokens that may be taken before they flow in. */
  readonly ahead: number;
}

export interface Answer {
  readonly grant: number;
  /** What Redis has left, below zero by what was promised ahead. */
  readonly rest: number;
}

interface Asked extends Question {
  readonly key: string;
  readonly rule: BucketRule;
  readonly answered: (answer: Answer) => void;
  readonly failed: (error: Error) => void;
}

/** Asks Redis for tokens; what is asked in the same moment goes in one call, in the order in which it was asked. */
export function batchedAsk(redis: Redis, timeoutMs: number) {
  let batch: Asked[] = [];

  const send = async (): Promise<void> => {
    const asked = batch;
    batch = [];
    try {
      const keys = asked.map(({ key }) => `corral:limit:${key}`);
      const args = asked.flatMap(({ rule, amount, ahead }) => [rule.capacity, rule.periodMs, amount, ahead]);
      const reply = await within(redis.eval(takeScript, keys.length, ...keys, ...args), timeoutMs);
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

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Redis gave no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
