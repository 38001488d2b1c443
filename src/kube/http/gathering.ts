/**
 * Answers that come in many small parts, as a log does of which every line is sent by itself: a TLS record and a part of the
 * answer for each. Node makes a buffer of its own of either, which takes some hundred bytes more than what is in it, and its
 * collector does not count those: fifty logs at once took 300 MB. So none of them lives for longer than it takes to copy it,
 * also not while a slow reader makes us wait.
 */

import type { ClientRequestArgs, IncomingMessage } from "node:http";
import * as http from "node:http";
import * as https from "node:https";
import { Duplex, Readable } from "node:stream";
import { realClock } from "../../runtime/clock.ts";
import { ownCopy } from "../../runtime/own-copy.ts";
import { kubePieceBytes } from "../client/lines.ts";

/** What Node takes from a connection at once. More would be held of each that is paused, and of what is longer than a piece. */
const kubeReadBytes = 8 * 1024;

/** What has just arrived: Node reads one connection after the other, so that all of them can have the same place. */
const arrived = Buffer.allocUnsafeSlow(kubeReadBytes);

/** Small records share their buffers, and of a connection that is told to pause nothing more is read. */
export class GatheringAgent extends https.Agent {
  override createConnection(options: ClientRequestArgs, created?: Created) {
    return gathering((more) => super.createConnection({ ...options, ...more } as ClientRequestArgs, created));
  }
}

/** The same without TLS. */
export class PlainGatheringAgent extends http.Agent {
  override createConnection(options: ClientRequestArgs, created?: Created) {
    return gathering((more) => super.createConnection({ ...options, ...more } as ClientRequestArgs, created));
  }
}

type Created = (error: Error | null, stream: Duplex) => void;
type Connection = ReturnType<http.Agent["createConnection"]>;

function gathering(connect: (more: object) => Connection): Connection {
  const take = (bytes: number) => connection instanceof Duplex && connection.push(copyOf(arrived.subarray(0, bytes)));
  const connection = connect({ onread: { buffer: arrived, callback: take } });
  return connection;
}

type Give = (bytes: Buffer) => void;

/** Of one answer at a time, for the same reason. */
const place = Buffer.allocUnsafeSlow(kubePieceBytes);
let filled = 0;
let goesTo: Give | undefined;
let isDue = false;

/** The same answer in few pieces, none of which is waited for. */
export function gathered(response: IncomingMessage): Readable {
  const { socket } = response;
  const body = new Readable({
    highWaterMark: kubePieceBytes,
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
  const pause = () => {
    if (body.readableLength >= kubePieceBytes && !response.complete) socket.pause();
  };
  const give = (bytes: Buffer) => {
    // Later, but before more is read: what HTTP took in just now makes it go on a tick from here, whoever has told it to pause.
    if (!body.destroyed && !body.push(bytes)) queueMicrotask(pause);
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
  if (part.length > place.length) {
    give(copyOf(part));
    return;
  }
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
  const bytes = copyOf(place.subarray(0, filled));
  [goesTo, filled] = [undefined, 0];
  to(bytes);
}

/** A few lines share their memory with others; what is more may be held for long, and would keep all of that. */
const smallBytes = 4_096;

function copyOf(bytes: Buffer): Buffer {
  return bytes.length < smallBytes ? Buffer.from(bytes) : ownCopy(bytes);
}
