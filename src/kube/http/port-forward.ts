/** A connection to a port of a pod, over a WebSocket (v4.channel.k8s.io): channel 0 has its bytes, channel 1 says why it failed. */
import { Duplex } from "node:stream";
import { WebSocket } from "ws";
import { connectionError, type Operation } from "../client/refusal.ts";
import type { CallOptions, ObjectAt } from "../kube.ts";
import type { Access } from "./credentials.ts";
import { openPodSocket, type PodSocketDeps, sendPieces } from "./pod-socket.ts";

const channels = { data: 0, error: 1 } as const;
/** The first message of each channel is the number of the port. */
const portBytes = 2;

export function forwardPort(at: ObjectAt, port: number, options: CallOptions, deps: PodSocketDeps): Promise<Duplex> {
  const path = `portforward?ports=${port}`;
  return openPodSocket({ verb: "connect to", at, path, protocols: ["v4.channel.k8s.io"] }, options, deps, duplexOf);
}

function duplexOf(socket: WebSocket, asked: Operation, access: Access): Duplex {
  const failed = (reason: string) => connectionError(new Error(reason), asked, access);
  const duplex = new Duplex({
    read: () => socket.resume(),
    write(chunk: Buffer, _encoding, done) {
      if (socket.readyState !== WebSocket.OPEN) return done(failed("the connection has ended"));
      return sendPieces(socket, channels.data, chunk, done);
    },
    // A single direction cannot be ended.
    final(done) {
      socket.close(1_000);
      done();
    },
    destroy(error, done) {
      socket.terminate();
      done(error);
    },
  });
  const started = new Set<number>();
  socket.on("message", (data: Buffer) => {
    const [channel = -1] = data;
    const bytes = data.subarray(1 + (started.has(channel) ? 0 : portBytes));
    started.add(channel);
    if (bytes.length === 0) return;
    if (channel === channels.error) duplex.destroy(failed(bytes.toString()));
    else if (channel === channels.data && !duplex.push(bytes)) socket.pause();
  });
  socket.on("error", (thrown) => duplex.destroy(connectionError(thrown, asked, access)));
  socket.on("close", () => duplex.push(null));
  // A failure to open rejects the promise of `openPodSocket`.
  duplex.on("error", () => undefined);
  return duplex;
}
