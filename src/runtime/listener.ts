/** How every server of ours listens: on one address, for a bounded number of connections, and closed with all of them. */
import { type AddressInfo, isIPv6, type Server, type Socket } from "node:net";
import { ProviderError, reasonOf } from "./errors.ts";
import type { Log } from "./log.ts";

export interface ListenAddress {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

interface Bounded {
  /** At once; more are turned away. */
  readonly connections: number;
  readonly log: Log;
}

export interface ListenOptions extends ListenAddress, Bounded {
  /** Who cannot listen when the address is taken, and the setting that chooses another one. */
  readonly what: string;
  readonly setting: string;
}

export interface Listener extends Closing {
  readonly port: number;
  readonly url: string;
  readonly connections: number;
}

interface Closing {
  /** Takes no more connections and ends those that are there, after `farewell` if there is one to say. */
  close(farewell?: (closed: Promise<void>) => Promise<void>): Promise<void>;
}

export async function listen(server: Server, options: ListenOptions): Promise<Listener> {
  const { host, port: wanted, what, setting } = options;
  const { sockets, close } = await begin(server, options, what, (ready) => server.listen(wanted, host, ready)).catch(
    (cause) => {
      const details = { what, address: `${host}:${wanted}`, reason: reasonOf(cause), setting };
      throw new ProviderError("AKP_LISTEN_FAILED", details, { cause });
    },
  );
  const { address, port } = server.address() as AddressInfo;
  return {
    port,
    url: httpUrl({ host: address, port }),
    get connections() {
      return sockets.size;
    },
    close,
  };
}

/** The same on a Unix socket that only our user may connect to; its file is there, and of that mode, from the first moment. */
export function listenOnSocket(server: Server, { path, ...bounds }: Bounded & { path: string }): Promise<Closing> {
  return begin(server, bounds, path, (ready) => {
    const before = process.umask(0o177);
    try {
      server.listen(path, ready);
    } finally {
      process.umask(before);
    }
  });
}

async function begin(
  server: Server,
  { connections, log }: Bounded,
  what: string,
  bind: (ready: () => void) => void,
): Promise<Closing & { readonly sockets: ReadonlySet<Socket> }> {
  const sockets = new Set<Socket>();
  server.maxConnections = connections;
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    // For as long as it lives: later, a connection that could not be taken must not end the process.
    server.on("error", (thrown) => {
      log.debug("listener failed", { what, reason: reasonOf(thrown) });
      reject(thrown);
    });
    bind(resolve);
  });
  return {
    sockets,
    async close(farewell) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await farewell?.(closed);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Where something answers over plain HTTP. */
export function httpUrl({ host, port }: { readonly host: string; readonly port: number }): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
