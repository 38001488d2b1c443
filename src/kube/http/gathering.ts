/**
 * Answers that come in many small parts, as a log does of which every line is sent by itself: a TLS record and a part of the
 * answer for each. Node makes a buffer of its own of either, which takes some hundred bytes more than what is in it, and its
 * collector does not count those: fifty logs at once took 300 MB. So none of them lives for longer than it takes to copy it,
 * also not while a slow reader makes us wait.
 */
import type { ClientRequestArgs, IncomingMessage } from "node:http";
import * as https from "node:https";
import { Duplex, Readable } from "node:stream";
import { realClock } from "../../runtime/clock.ts";
import { limits } from "../../runtime/limits.ts";

/** What has just arrived: Node reads one connection after the other, so that all of them can have the same place. */
const arrived = Buffer.allocUnsafeSlow(limits.kubeReadBytes);

/** Small records share their buffers, and of a connection that is told to pause nothing more is read. */
export class GatheringAgent extends https.Agent {
  override createConnection(options: ClientRequestArgs, created?: (error: Error | null, stream: Duplex) => void) {
    const take = (bytes: number) =>
      connection instanceof Duplex && connection.push(Buffer.from(arrived.subarray(0, bytes)));
    const onread = { buffer: arrived, callback: take };
    const connection = super.createConnection({ ...options, onread } as ClientRequestArgs, created);
    return connection;
  }
}

type Give = (bytes: Buffer) => void;

/** Of one answer at a time, for the same reason. */
const place = Buffer.allocUnsafeSlow(limits.kubeReadBytes);
let filled = 0;
let goesTo: Give | undefined;
let isDue = false;

/** The same answer in few pieces, none of which is waited for. */
export function gathered(response: IncomingMessage): Readable {
  const { socket } = response;
  const body = new Readable({
    highWaterMark: limits.kubePieceBytes,
    read() {
      if (!response.complete) socket.resume();
    },
    destroy(error, done) {
      response.destroy();
      done(error);
    },
  });
  // Who reads it looks for its error; nobody does before he began.
  body.on("error", () => undefined);
  const give = (bytes: Buffer) => {
    if (!body.destroyed && !body.push(bytes) && !response.complete) socket.pause();
  };
  response.on("data", (part: Buffer) => gather(give, part));
  response.on("end", () => {
    handOver(give);
    body.push(null);
  });
  response.on("error", (error) => {
    handOver(give);
    body.destroy(error);
  });
  response.on("close", () => {
    if (!response.readableEnded) body.destroy();
  });
  return body;
}

function gather(give: Give, part: Buffer): void {
  if (goesTo !== give || filled + part.length > place.length) handOver();
  goesTo = give;
  filled += part.copy(place, filled);
  if (isDue) return;
  isDue = true;
  // By then all was read that is there; of sockets, whose time is the real one.
  void realClock.yield().then(() => {
    isDue = false;
    handOver();
  });
}

function handOver(to = goesTo): void {
  if (!to || goesTo !== to) return;
  const bytes = Buffer.from(place.subarray(0, filled));
  [goesTo, filled] = [undefined, 0];
  to(bytes);
}
