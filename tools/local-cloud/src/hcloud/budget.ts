export interface BudgetState {
  readonly limit: number;
  readonly remaining: number;
  /** Unix time in seconds at which the budget is full again. */
  readonly resetsAt: number;
  /** Number of requests refused because the budget was empty. */
  readonly refused: number;
}

/** The request budget of a project: allows a burst of one hour's requests and refills evenly. */
export class Budget {
  #limit: number;
  #level: number;
  #asOf: number;
  #refused = 0;

  constructor(requestsPerHour: number, nowMs: number) {
    this.#limit = requestsPerHour;
    this.#level = requestsPerHour;
    this.#asOf = nowMs;
  }

  /** Takes one request. @returns false if the budget is empty */
  take(nowMs: number): boolean {
    this.#refill(nowMs);
    if (this.#level < 1) {
      this.#refused += 1;
      return false;
    }
    this.#level -= 1;
    return true;
  }

  state(nowMs: number): BudgetState {
    this.#refill(nowMs);
    const secondsToFull = ((this.#limit - this.#level) * 3600) / Math.max(this.#limit, 1);
    return {
      limit: this.#limit,
      remaining: Math.floor(this.#level),
      resetsAt: Math.ceil(nowMs / 1000 + secondsToFull),
      refused: this.#refused,
    };
  }

  /** Setting a new limit without `remaining` refills the budget. */
  set(change: { requestsPerHour?: number; remaining?: number }, nowMs: number): void {
    this.#refill(nowMs);
    if (change.requestsPerHour !== undefined) {
      this.#limit = change.requestsPerHour;
      this.#level = change.requestsPerHour;
    }
    if (change.remaining !== undefined) this.#level = Math.min(change.remaining, this.#limit);
  }

  #refill(nowMs: number): void {
    const elapsedMs = Math.max(nowMs - this.#asOf, 0);
    this.#level = Math.min(this.#limit, this.#level + (elapsedMs * this.#limit) / 3_600_000);
    this.#asOf = Math.max(nowMs, this.#asOf);
  }
}
