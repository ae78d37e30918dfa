export { aroundMs, type BackoffRange, backoffMs, equalJitterMs, fullJitterMs, spreadMs } from './backoff.js';
export { type Broken, codeOf, endOf, mayHaveArrived } from './broken.js';
export {
  type Answered,
  type AnswerHeaders,
  type Bounds,
  collect,
  type Endpoint,
  exchange,
  isObject,
  type JsonObject,
  type Opened,
  type Outgoing,
  openExchange,
  parseJsonObject,
  readJsonObject,
} from './exchange.js';
export { type AgentOptions, openAgent, type TlsMaterial } from './sockets.js';
export { answerWithin, orAborted, orLate, sleep } from './waits.js';
