import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

export interface LingerBounds {
  readonly ms: number;
  readonly bytes: number;
}

/**
 * Makes the connection linger when its last answer goes out before the request is read: to close it with bytes unread, or
 * still on their way, is a reset, by which clients lose the answer that they have not read yet (RFC 9112, 9.6).
 */
export function lingerAfterAnswer(req: IncomingMessage, bounds: LingerBounds): void {
  const { socket } = req;
  // Node closes the connection of a last answer by this method, and has no setting for how.
  socket.destroySoon = () => {
    delete (socket as Partial<Socket>).destroySoon;
    if (req.complete) {
      socket.destroySoon();
      return;
    }
    socket.end();
    linger(socket, bounds);
  };
}

/**
 * For a connection whose writing side has ended: throws away what still comes, past any parser, until the client ends it,
 * too, and cuts it at the first of the bounds. It stays among those that are counted meanwhile.
 */
export function linger(socket: Socket, { ms, bytes }: LingerBounds): void {
  const timer = setTimeout(() => socket.destroy(), ms);
  socket.once('close', () => clearTimeout(timer));
  let left = bytes;
  const discard = (): void => {
    // The parser takes its bytes from the socket's handle until somebody else listens for data.
    socket.removeAllListeners('data');
    socket.on('data', (piece: Buffer) => {
      left -= piece.length;
      if (left < 0) socket.destroy();
    });
  };
  if (socket.isPaused()) {
    // A request that nobody reads has stopped its parser, and what starts it again works only while it has the handle.
    socket.once('resume', discard);
    socket.resume();
  } else discard();
}
