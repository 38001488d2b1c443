/** Outgoing messages of one client. A slow client is detected, so that it loses its subscription and takes no memory. */
import type { WebSocket } from "ws";
import type { Clock, Timer } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";

/** Events that may wait for one slow client; then its subscription ends. */
const chainSubscriberMessages = 200;
/** The same in bytes, since a busy block is a megabyte of events. */
const chainSubscriberBytes = 64 * 1024 * 1024;
/** A client that takes nothing for this long is gone, and so is one whose request takes longer to arrive. */
export const chainWriteMs = 10 * second;

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
  let deadline: Timer | undefined;

  function watch(): void {
    deadline?.cancel();
    deadline = waiting > 0 && !stopped ? clock.timer(chainWriteMs, () => socket.terminate()) : undefined;
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
      return waiting >= chainSubscriberMessages || socket.bufferedAmount >= chainSubscriberBytes;
    },
    stop() {
      stopped = true;
      deadline?.cancel();
    },
  };
}
