/** What is looked after on each connection: that somebody is still there, and that he does not ring for nothing. */
import { constants, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Clock, Timer } from "../clock.ts";
import { createTokenBucket } from "../token-bucket.ts";

/** Keepalives are minutes apart; who measures the way pings once per round trip, while it is sent something. */
export const grpcPings = { atOnce: 1_000, perS: 50 };

/**
 * Notices a client that is gone without a word, or never spoke HTTP/2: it does not answer one ping before the next. One that says
 * good-bye has its session destroyed while its connection stays until it closes that too, which it need not.
 */
export function keepHeartbeat(session: ServerHttp2Session, socket: Socket, clock: Clock, periodMs: number): void {
  let answered = true;
  let timer: Timer;
  const beat = () => {
    if (!answered || session.destroyed) {
      session.destroy();
      socket.destroy();
      return;
    }
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

/**
 * A ping is cheap, and some clients measure the way with many while they are sent much. Settings are answered as pings are, and
 * nobody changes his more than a few times. Those who send nothing else are told to be quiet, in the words that clients know,
 * and hung up on.
 */
export function boundPings(session: ServerHttp2Session, clock: Clock, onFlood?: () => void): void {
  const allowsOne = createTokenBucket(grpcPings, clock);
  let isFlood = false;
  const count = () => {
    if (isFlood || session.destroyed || allowsOne()) return;
    isFlood = true;
    onFlood?.();
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from("too_many_pings"));
    // In a later turn: at once it would overtake what it was told.
    clock.timer(0, () => session.destroy());
  };
  session.on("ping", count);
  session.on("remoteSettings", count);
}
