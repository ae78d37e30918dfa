import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { type Exchange, exchange } from '../rig/exchange.js';
import { arrivals, quantile } from './arrivals.js';

/** One kind of request, at its own rate. */
export interface Kind {
  readonly perSecond: number;
  ask(number: number): Exchange;
  /** Called with each success. */
  onAnswer?(text: string): void;
}

export interface Served {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** Answers other than a success, and requests without one. */
  readonly refused: number;
  /** What those said, by status, for whoever looks for the reason. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** Connections to each address: a proxy has no more. */
const CONNECTIONS = 64;

/**
 * Sends all kinds together, each request at its time, even if earlier ones have no answer yet. Times count from when a request was
 * due, so that a slow server cannot slow down the clock that measures it.
 */
export async function play(
  kinds: Readonly<Record<string, Kind>>,
  seconds: number,
): Promise<Readonly<Record<string, Served>>> {
  const agents = new Map<string, Agent>();
  const agentOf = (url: string): Agent => {
    const { host } = new URL(url);
    const agent = agents.get(host) ?? new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    agents.set(host, agent);
    return agent;
  };
  const tallies = new Map(
    Object.keys(kinds).map((name) => [name, { ms: [] as number[], reasons: new Map<string, number>() }]),
  );
  const rates = Object.fromEntries(Object.entries(kinds).map(([name, { perSecond }]) => [name, perSecond]));
  const startedAt = performance.now();
  const send = async (name: string, number: number, dueAt: number): Promise<void> => {
    const { ask, onAnswer } = kinds[name] as Kind;
    const tally = tallies.get(name) as { ms: number[]; reasons: Map<string, number> };
    const asked = ask(number);
    const outcome = await exchange(asked, agentOf(asked.url)).catch((error: Error) => ({
      status: 0,
      text: error.message,
    }));
    if (outcome.status >= 200 && outcome.status < 300) {
      tally.ms.push(performance.now() - dueAt);
      onAnswer?.(outcome.text);
    } else {
      const reason = `${outcome.status} ${/"code":\s*"([^"]+)"/.exec(outcome.text)?.[1] ?? outcome.text.slice(0, 80)}`;
      tally.reasons.set(reason, (tally.reasons.get(reason) ?? 0) + 1);
    }
  };
  const sent: Promise<void>[] = [];
  for (const { atMs, kind, number } of arrivals(rates, seconds)) {
    const dueAt = startedAt + atMs;
    while (performance.now() < dueAt) await pause(1);
    sent.push(send(kind, number, dueAt));
  }
  await Promise.all(sent);
  for (const agent of agents.values()) agent.destroy();
  return Object.fromEntries(
    [...tallies].map(([name, { ms, reasons }]) => [
      name,
      {
        perSecond: rates[name] as number,
        p50Ms: quantile(ms, 0.5),
        p95Ms: quantile(ms, 0.95),
        p99Ms: quantile(ms, 0.99),
        refused: [...reasons.values()].reduce((sum, count) => sum + count, 0),
        reasons: Object.fromEntries(reasons),
      },
    ]),
  );
}
