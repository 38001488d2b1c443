/** How every server of ours listens: on one address, for a bounded number of connections, and closed with all of them. */
import type { AddressInfo, Server, Socket } from "node:net";
import { ProviderError, reasonOf } from "./errors.ts";
import type { Log } from "./log.ts";

export interface ListenAddress {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

export interface ListenOptions extends ListenAddress {
  /** At once; more are turned away. */
  readonly connections: number;
  /** Who cannot listen when the address is taken, and the setting that chooses another one. */
  readonly what: string;
  readonly setting: string;
  readonly log: Log;
}

export interface Listener {
  readonly port: number;
  readonly url: string;
  readonly connections: number;
  /** Takes no more connections and ends those that are there, after `farewell` if there is one to say. */
  close(farewell?: (closed: Promise<void>) => Promise<void>): Promise<void>;
}

export async function listen(server: Server, options: ListenOptions): Promise<Listener> {
  const { what, setting, log } = options;
  const sockets = new Set<Socket>();
  server.maxConnections = options.connections;
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    // For as long as it lives: later, a connection that could not be taken must not end the process.
    server.on("error", (thrown) => {
      const reason = reasonOf(thrown);
      log.debug("listener failed", { what, reason });
      const details = { what, address: `${options.host}:${options.port}`, reason, setting };
      reject(new ProviderError("AKP_LISTEN_FAILED", details, { cause: thrown }));
    });
    server.listen(options.port, options.host, resolve);
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://${address.includes(":") ? `[${address}]` : address}:${port}`,
    get connections() {
      return sockets.size;
    },
    async close(farewell) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await farewell?.(closed);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
