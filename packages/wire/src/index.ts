export { type Broken, codeOf, mayHaveArrived } from './arrival.js';
export { aroundMs, type BackoffRange, backoffMs, equalJitterMs, fullJitterMs, spreadMs } from './backoff.js';
export { answerWithin, type Deadline, orAborted, orLate, sleep, startDeadline, startPatience } from './deadline.js';
export {
  type Answered,
  type AnswerHeaders,
  type Bounds,
  collect,
  type Endpoint,
  exchange,
  type Opened,
  type Outgoing,
  openExchange,
} from './exchange.js';
export { isObject, type JsonObject, parseJsonObject, readJsonObject } from './json.js';
export { createLineCutter } from './json-stream.js';
export { type AgentOptions, openAgent, retireAgent, type TlsMaterial } from './sockets.js';
