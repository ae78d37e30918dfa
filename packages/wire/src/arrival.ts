import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';

/**
 * How far a call came, which shows whether the other side may have acted on it.
 *
 * `queued`: all connections were busy. `connecting`: no connection was ready. In both cases no byte of the request left.
 * `waiting`: the request may have arrived. `answering`: the answer began, and is half or too large.
 */
export type Stage = 'queued' | 'connecting' | 'waiting' | 'answering';

/** A `transport` of axios for one request, which knows how far the request came. */
export interface Arrival {
  stage: Stage;
  readonly transport: {
    request(options: https.RequestOptions, onAnswer: (answer: IncomingMessage) => void): ClientRequest;
  };
}

/** @param onSocket called when the request gets a connection, ready or still connecting */
export function watchArrival(onSocket?: () => void): Arrival {
  const arrival: Arrival = {
    stage: 'queued',
    transport: {
      request(options, onAnswer) {
        const isSecure = options.protocol === 'https:';
        const request = (isSecure ? https : http).request(options, onAnswer);
        request.once('socket', (socket) => {
          onSocket?.();
          arrival.stage = socket.connecting && !request.reusedSocket ? 'connecting' : 'waiting';
          if (arrival.stage === 'waiting') return;
          socket.once(isSecure ? 'secureConnect' : 'connect', () => {
            arrival.stage = 'waiting';
          });
        });
        let isAnswered = false;
        request.once('response', () => {
          isAnswered = true;
        });
        // Node.js closes a request silently that is answered with a protocol that nobody asked for.
        request.once('close', () => {
          if (!isAnswered) request.emit('error', new Error('The request was closed without an answer.'));
        });
        return request;
      },
    },
  };
  return arrival;
}
