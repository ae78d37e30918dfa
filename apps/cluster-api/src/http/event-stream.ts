import { setAside } from '@corral/service';
import type { Response } from 'express';
import type { StreamSink } from '../live/live-stream.js';

/** For a last word that the connection does not take. */
const END_MS_MAX = 5_000;

export function sendEventStreamHead(res: Response): void {
  res.statusCode = 200;
  res.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
  // Neither kept, nor compressed, nor collected by what lies between: an event is for now.
  res.setHeader('Cache-Control', 'no-store, no-transform');
  res.setHeader('X-Accel-Buffering', 'no');
}

/** Begins an answer that is a stream of events. */
export function openEventStream(res: Response): StreamSink {
  sendEventStreamHead(res);
  res.flushHeaders();
  setAside(res);
  res.on('error', () => undefined); // whoever is gone is heard of by 'close'
  return {
    write: (bytes) => !res.destroyed && res.write(bytes),
    onDrain: (takesMore) => void res.on('drain', takesMore),
    end(bytes) {
      const timer = setTimeout(() => res.destroy(), END_MS_MAX);
      res.once('close', () => clearTimeout(timer));
      res.end(bytes);
    },
  };
}
