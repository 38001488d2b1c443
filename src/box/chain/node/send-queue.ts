/** Messages on their way to one client. A slow one is told apart, so that it costs its own subscription and no memory. */
import type { WebSocket } from "ws";
import type { Clock, Timer } from "../../../runtime/clock.ts";
import { limits } from "../../../runtime/limits.ts";

export interface SendQueue {
  send(text: string): void;
  /** The client has fallen behind: no more events may wait for it, and no more requests are read from it. */
  readonly full: boolean;
  stop(): void;
}

/** `sent` is called whenever a message has left; a client that takes none at all for a while is cut off. */
export function createSendQueue(socket: WebSocket, clock: Clock, sent: () => void): SendQueue {
  let waiting = 0;
  let stopped = false;
  let patience: Timer | undefined;

  function watch(): void {
    patience?.cancel();
    patience = waiting > 0 && !stopped ? clock.timer(limits.chainWriteMs, () => socket.terminate()) : undefined;
  }

  return {
    send(text) {
      if (socket.readyState !== socket.OPEN) return;
      waiting += 1;
      if (waiting === 1) watch();
      socket.send(text, () => {
        waiting -= 1;
        watch();
        sent();
      });
    },
    get full() {
      return waiting >= limits.chainSubscriberMessages || socket.bufferedAmount >= limits.chainSubscriberBytes;
    },
    stop() {
      stopped = true;
      patience?.cancel();
    },
  };
}
