/** A wire that a test can cut: at once, after so many bytes, or for good; make dumb; and lead to another server. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { Owner } from "./owner.ts";

export interface CuttableProxy {
  readonly port: number;
  readonly url: string;
  /** The port that new connections lead to; without one they are turned away. */
  target: number | undefined;
  /** Cuts every connection there is. */
  cut(): void;
  /** Cuts every connection once this many more bytes came from the server. */
  cutAfter(bytes: number): void;
  /** Nothing comes through the connections there are, and none is reported: not even when all others are cut. */
  mute(): void;
}

export async function startProxy(owner: Owner, target: number | undefined, host = "127.0.0.1"): Promise<CuttableProxy> {
  const sockets = new Set<Socket>();
  const muted = new Set<Socket>();
  let bytesLeft = Number.POSITIVE_INFINITY;

  function hold(socket: Socket): void {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A cut wire makes errors at both ends; the close that follows is what counts.
    socket.on("error", () => undefined);
  }

  const server = createServer((near) => {
    hold(near);
    if (proxy.target === undefined) return void near.destroy();
    const far = connect(proxy.target, host);
    hold(far);
    near.on("close", () => far.destroy());
    far.on("close", () => void (muted.has(near) || near.destroy()));
    near.pipe(far);
    far.on("data", (chunk) => {
      if (muted.has(far)) return;
      near.write(chunk.subarray(0, bytesLeft));
      bytesLeft -= chunk.length;
      if (bytesLeft <= 0) proxy.cut();
    });
    return undefined;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;

  const proxy: CuttableProxy = {
    port,
    url: `redis://127.0.0.1:${port}`,
    target,
    cut() {
      bytesLeft = Number.POSITIVE_INFINITY;
      // What was written so far still arrives, and then the end: as half a reply does on a real wire.
      for (const socket of sockets) socket.destroySoon();
    },
    cutAfter(bytes) {
      bytesLeft = bytes;
    },
    mute() {
      for (const socket of sockets) {
        socket.unpipe();
        socket.resume();
        muted.add(socket);
      }
      sockets.clear();
    },
  };
  owner.after(async () => {
    const closed = once(server, "close");
    server.close();
    for (const socket of [...sockets, ...muted]) socket.destroy();
    await closed;
  });
  return proxy;
}
