/** Pings a client, and ends a connection that showed no sign of life since the last ping. */
import type { WebSocket } from "ws";
import type { Clock, Timer } from "../../../runtime/clock.ts";
import { limits } from "../../../runtime/limits.ts";

export function createHeartbeat(socket: WebSocket, clock: Clock): { stop(): void } {
  let alive = true;
  let timer: Timer = clock.timer(limits.chainPingMs, beat);

  function beat(): void {
    if (!alive) {
      socket.terminate();
      return;
    }
    alive = false;
    socket.ping();
    timer = clock.timer(limits.chainPingMs, beat);
  }

  for (const sign of ["message", "ping", "pong"] as const) {
    socket.on(sign, () => {
      alive = true;
    });
  }
  return { stop: () => timer.cancel() };
}
