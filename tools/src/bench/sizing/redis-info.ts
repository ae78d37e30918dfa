import { Redis } from 'ioredis';

export interface RedisInfo {
  readonly processId: number;
  /** What its data and connections take, without free memory that it keeps. */
  readonly usedBytes: number;
  /** Processed since it was started, those of scripts included. */
  readonly commands: number;
  /** So often it has read something that a client sent: a script with all its commands once. */
  readonly roundTrips: number;
}

/** What a Redis says about itself (INFO). */
export async function readRedis(url: string): Promise<RedisInfo> {
  const redis = new Redis(url);
  try {
    const text = await redis.info();
    const numberOf = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1]);
    return {
      processId: numberOf('process_id'),
      usedBytes: numberOf('used_memory'),
      commands: numberOf('total_commands_processed'),
      roundTrips: numberOf('total_reads_processed'),
    };
  } finally {
    redis.disconnect();
  }
}
