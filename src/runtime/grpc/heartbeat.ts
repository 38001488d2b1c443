/** Notices a client that is gone without a word, or never spoke HTTP/2: it does not answer one ping before the next. */
import type { ServerHttp2Session } from "node:http2";
import type { Clock, Timer } from "../clock.ts";

export function keepHeartbeat(session: ServerHttp2Session, clock: Clock, periodMs: number): void {
  let answered = true;
  let timer: Timer;
  const beat = () => {
    if (!answered) return session.destroy();
    answered = false;
    // An error only says that the connection is closing.
    session.ping((error) => {
      answered = error === null;
    });
    timer = clock.timer(periodMs, beat);
  };
  timer = clock.timer(periodMs, beat);
  session.once("close", () => timer.cancel());
}
